//! The programs that are known.

use super::Operands::{
    LastWritten, Moved, Nothing, Read, ReadAfterText, SecondWritten, Unknown, Write,
};
use super::Program;

const fn program(
    names: &'static [&'static str],
    operands: super::Operands,
    options: &'static str,
) -> Program {
    Program::new(names, operands, options)
}

/// The programs, by what their operands are.
#[rustfmt::skip]
pub(crate) const PROGRAMS: &[Program] = &[
    // They look at names, or at nothing.
    program(&[
        ":", "[", "[[", "arch", "basename", "break", "cd", "continue", "df", "dirname", "echo", "exit", "export",
        "expr", "false", "getconf", "hash", "hostname", "id", "jobs", "kill", "ls", "nproc", "pgrep", "pkill", "popd",
        "printf", "ps", "pushd", "pwd", "read", "readlink", "realpath", "return", "seq", "set", "shift", "sleep",
        "test", "tput", "tr", "true", "type", "umask", "uname", "unset", "wait", "which", "whoami",
    ], Nothing, ""),
    program(&["date"], Nothing, "-r|reference:read -f|file:read -sdI|set|date:text"),
    program(&["tree"], Nothing, "-o:write -LPIH|filelimit|charset|sort|timefmt|gitfile|infofile:text"),

    // They show the files they are given.
    program(&[
        ".", "b2sum", "base32", "base64", "basenc", "bzcat", "cat", "cmp", "col", "colrm", "column", "comm", "cut",
        "expand", "fmt", "fold", "head", "hexyl", "join", "look", "nl", "od", "paste", "pg", "pr", "rev", "source",
        "stat", "strings", "sum", "tac", "tail", "tsort", "unexpand", "xzcat", "zcat", "zstdcat",
    ], Read, ""),
    program(&["cksum", "md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum"], Read,
        "-c|check:lists -a|algorithm|length:text"),
    program(&["bat", "batcat"], Read, "pager:run -lHrm|language|theme|style|line-range|highlight-line|map-syntax:text"),
    program(&["more", "most", "zmore"], Read, ""),
    program(&["less", "zless"], Read,
        "-k|lesskey-file|lesskey-src|lesskey-content:script -oO|log-file|LOG-FILE:write -tTpxyzjbhP:text"),
    program(&["wc"], Read, "files0-from:list total:text"),
    program(&["du"], Nothing, "files0-from:list -X|exclude-from:read -dBt|max-depth|block-size|threshold|exclude|time-style:text"),
    program(&["sort"], Read,
        "-o|output:write -T|temporary-directory:into compress-program:run files0-from:list random-source:read \
         -ktS|key|field-separator|buffer-size|batch-size|parallel|sort:text"),
    program(&["shuf"], Read, "-o|output:write random-source:read -ni|head-count|input-range:text"),
    program(&["diff"], Read,
        "to-file|from-file|-X|exclude-from:read -xIFLUCWDS|exclude|ignore-matching-lines|show-function-line|label:text \
         starting-file|width|tabsize|horizon-lines|ifdef|line-format|color|palette:text"),
    program(&["diff3"], Read, "diff-program:run -L|label:text"),
    program(&["sdiff"], Read, "diff-program:run -o|output:write -wI|width|ignore-matching-lines:text"),
    program(&["file"], Read, "-f|files-from:list -m|magic-file:read -FPe|separator|parameter|exclude:text"),
    program(&["hexdump"], Read, "-f:read -ens:text"),
    program(&["iconv"], Read, "-o|output:write -ft|from-code|to-code:text"),
    program(&["csplit"], Read, "-f|prefix:prefix -b|suffix-format:suffix -n|digits:text"),
    program(&["man"], Nothing,
        "-P|pager:run -H|html:runs -C|config-file:script -l|local-file:read -MmSsLprRETe|manpath|systems|sections:text"),

    // The first operand is a text.
    program(&["grep", "egrep", "fgrep", "zgrep", "bzgrep", "xzgrep"], ReadAfterText,
        "-e|regexp:pattern -f|file:patterns exclude-from:read \
         -ABCmdD|after-context|before-context|context|max-count|devices|directories|binary-files|label:text \
         color|colour:optional include|exclude|exclude-dir|group-separator:text \
         -EFGPivwxycLlqsnHhobTUzZarRIuV0123456789|recursive|dereference-recursive|ignore-case|line-number|count:flag \
         files-with-matches|files-without-match|word-regexp|line-regexp|fixed-strings|extended-regexp|perl-regexp:flag \
         invert-match|quiet|silent|no-messages|with-filename|no-filename|only-matching|text|null|null-data:flag"),
    program(&["rg"], ReadAfterText,
        "-e|regexp:pattern -f|file:patterns pre|hostname-bin:run ignore-file:read files|type-list:no-text \
         -ABCmgtTjMEdr|after-context|before-context|context|max-count|glob|iglob|type|type-not|type-add|type-clear:text \
         pre-glob|threads|max-columns|encoding|max-depth|maxdepth|replace|sort|sortr|color|colors|engine|max-filesize:text \
         context-separator|field-context-separator|field-match-separator|path-separator|regex-size-limit|dfa-size-limit:text \
         -nNivwxclqsHhobFPSUuzL.0aIp|hidden|no-ignore|unrestricted|files-with-matches|count|line-number|heading:flag \
         no-heading|ignore-case|smart-case|fixed-strings|word-regexp|invert-match|multiline|json|follow|search-zip:flag"),
    program(&["ag", "ack"], ReadAfterText, "pager:run ackrc:script files-from:list -ABCmGp|ignore|ignore-dir|depth|type:text"),
    program(&["sed"], ReadAfterText,
        "-e|expression:pattern -f|file:script -i|in-place:optional -l|line-length:text \
         -nErsuz|quiet|silent|regexp-extended|separate|unbuffered|null-data|posix|debug|sandbox|follow-symlinks:flag"),
    program(&["awk", "gawk", "mawk", "nawk"], ReadAfterText,
        "-fE|file|exec:script -i|include:script -l|load:script -W:script -e|source:pattern -Fv|field-separator|assign:text \
         -opd|pretty-print|profile|dump-variables:optional-write -D|debug:optional -bcChkKLMnNOPrsStV|csv|posix|re-interval:flag"),
    program(&["jq"], ReadAfterText,
        "-f|from-file:patterns slurpfile|rawfile|argfile:named-read arg|argjson:named-text -L|library-path:read indent:text \
         -crnsSReMCja|compact-output|raw-output|null-input|slurp|sort-keys|raw-input|exit-status|tab|join-output:flag"),
    program(&["yq"], ReadAfterText, "from-file:patterns -sopI|split-exp|output-format|input-format|indent:text"),

    // They change the files they are given.
    program(&[
        "chattr", "ed", "emacs", "ex", "nano", "nvim", "rename", "rm", "rmdir", "sponge", "tee", "unlink", "vi", "view",
        "vim",
    ], Write, ""),
    program(&["mkdir", "mkfifo", "mknod"], Write, "-m|mode:text"),
    program(&[
        "brotli", "bunzip2", "bzip2", "compress", "gunzip", "gzip", "lbzip2", "lz4", "lzip", "lzop", "pbzip2", "pigz",
        "uncompress", "unlz4", "unpigz",
    ], Write, "-S|suffix:suffix -o|output:write"),
    program(&["lzma", "unlzma", "unxz", "xz"], Write,
        "files|files0:list -S|suffix:suffix -TFCM|threads|format|check|memlimit:text"),
    program(&["unzstd", "zstd", "zstdmt"], Write, "-o:write -D|patch-from:read output-dir-flat|output-dir-mirror:into filelist:list -TMB:text"),
    program(&["chmod", "chown", "chgrp"], Write, "reference:read from:text"),
    program(&["setfacl"], Write, "-MX|modify-file|remove-file|restore:read -mx|modify|remove:text"),
    program(&["touch"], Write, "-r|reference:read -dt|date|time:text"),
    program(&["truncate"], Write, "-r|reference:read -s|size:text"),
    program(&["shred"], Write, "random-source:read -ns|iterations|size:text"),
    program(&["patch"], Write,
        "-i|input:archive -d|directory:chdir -or|output|reject-file:write -pFgVD|strip|fuzz|get|version-control:text \
         -zBY|suffix|prefix|basename-prefix:suffix ifdef|reject-format|read-only|quoting-style:text"),
    program(&["cp"], LastWritten, "-t|target-directory:into -S|suffix:suffix backup|preserve|no-preserve|reflink|sparse|update:optional"),
    program(&["install"], LastWritten,
        "-t|target-directory:into strip-program:run -S|suffix:suffix -mog|mode|owner|group:text backup|preserve-context:optional"),
    program(&["mv", "ln", "link"], Moved, "-t|target-directory:into -S|suffix:suffix backup|update:optional"),
    program(&["rsync"], LastWritten,
        "-e|rsh|rsync-path:run files-from:list exclude-from|include-from|password-file|early-input:read log-file:write \
         -T|temp-dir|partial-dir|backup-dir|compare-dest|copy-dest|link-dest:into write-batch|only-write-batch:write \
         read-batch|config|dparam:script suffix:suffix -fMB|filter|remote-option|block-size|chmod|chown|exclude|include|port:text \
         max-size|min-size|bwlimit|timeout|out-format|compress-level|info|debug|modify-window|usermap|groupmap|sockopts:text"),
    program(&["scp"], LastWritten, "-SD:run -F:script -o:ssh -i:read -PclJX:text"),
    program(&["uniq"], SecondWritten, "-fsw|skip-fields|skip-chars|check-chars:text group|all-repeated:optional"),
    program(&["xxd"], SecondWritten, "-slcgonR:text"),
    program(&["split"], SecondWritten,
        "filter:run -abClnt|suffix-length|bytes|line-bytes|lines|number|separator:text additional-suffix:suffix \
         numeric-suffixes|hex-suffixes:optional"),
    program(&["zip"], Write,
        "unzip-command:run -O|output-file|out:write -b|temp-path:into -@:lists -ixtnP|include|exclude|password:text"),

    // Archives: what else they do is read with their letters.
    program(&["tar", "bsdtar", "gtar"], Unknown,
        "-f|file:archive -C|directory|cd:chdir -T|files-from:list -X|exclude-from:read \
         -I|use-compress-program:run -F|info-script|new-volume-script:run to-command|rsh-command|rmt-command:run \
         checkpoint-action:action -g|listed-incremental|index-file|volno-file:write one-top-level|checkpoint|totals:optional \
         -KLNVbH|starting-file|tape-length|newer|after-date|label|blocking-factor|format|exclude|exclude-tag|transform:text \
         xform|strip-components|owner|group|mode|mtime|sort|newer-mtime|warning|quoting-style|pax-option|record-size:text \
         suffix|owner-map|group-map|level|occurrence|sparse-version|exclude-ignore|exclude-ignore-recursive|options:text"),
    program(&["unzip"], Unknown, "-d:into -P:text -x:text"),
    program(&["cpio"], Unknown, "-F|file:archive -IO:archive -D|directory:chdir rsh-command|rmt-command:run -E|pattern-file:list -CHRM:text"),
    program(&["7z", "7za", "7zr"], Unknown, "-o:into"),
    program(&["unrar", "ar"], Unknown, ""),

    // They speak to others.
    program(&["curl"], Unknown,
        "-K|config:script -T|upload-file:read -o|output:write output-dir:into -cD|cookie-jar|dump-header:write \
         -dFHwb|data|data-ascii|data-binary|data-urlencode|json|form|header|proxy-header|write-out|cookie|variable|url-query:read-within \
         -E|cert|key|cacert|capath|crlfile|netrc-file|etag-compare|proxy-cert|proxy-key|proxy-cacert|pubkey:read-within \
         trace|trace-ascii|stderr|libcurl|etag-save|hsts|alt-svc:write engine:script \
         -uAeXxmrCyYzPQtU|user|user-agent|referer|request|proxy|max-time|range|continue-at|speed-limit|speed-time:text \
         retry|retry-delay|retry-max-time|connect-timeout|resolve|interface|limit-rate|max-redirs|form-string:text \
         data-raw|ciphers|pass|oauth2-bearer|aws-sigv4|max-filesize|proto|rate|create-file-mode:text"),
    program(&["wget"], Unknown,
        "-O|output-document:write -oa|output-file|append-output:write -i|input-file:list -P|directory-prefix:into \
         post-file|body-file|load-cookies|certificate|private-key|ca-certificate|ca-directory|crl-file:read \
         save-cookies|warc-file|warc-cdx|rejected-log|hsts-file:write config|-e|execute:script use-askpass:run \
         -tTwQBUlARDXI|tries|timeout|wait|quota|base|user-agent|level|accept|reject|domains|header|user|password|referer:text \
         post-data|body-data|method|limit-rate|cut-dirs|default-page|start-pos|progress|user-agent:text"),
    program(&["ssh"], Unknown, "-F:script -o:ssh -I:script -i:read -S:read -E:write -LRDWJplbcemQwBO:text"),
    program(&["sftp"], Unknown, "-SD:run -F:script -b:script -o:ssh -i:read -PclJRBsX:text"),
    program(&["openssl"], Unknown,
        "in|inkey|cert|certfile|CAfile|CApath|key|kfile|CA|CAkey|signature|verify|content|recip|signer|rand|extfile:read \
         out|keyout|writerand|CAserial|sigfile|outdir|certsout:write config|engine|provider|provider-path|engine_impl:script")
        .with_one_dash(),

    // They run others, and their own options count.
    program(&["env"], Unknown, "-C|chdir:chdir -uS|unset|split-string:text"),
    program(&["sudo", "doas"], Unknown, "-D|chdir|-R|chroot:chdir -ugpChrtTU|user|group|prompt|host|role|type:text"),
    program(&["make", "gmake"], Unknown, "-C|directory:chdir -f|file|makefile:read eval:run -jIloW|jobs|include-dir|load-average:optional"),
    program(&["ninja", "cargo"], Unknown, "-C:chdir config:read-within"),
    program(&["npm", "pnpm", "yarn"], Unknown,
        "prefix|cwd|dir|-C:chdir script-shell|shell|editor|viewer|git|node-gyp:run node-options|globalconfig|userconfig:script"),
    program(&["pip", "pip3"], Unknown, "editor|python:run -rc|requirement|constraint:read -td|target|dest|prefix|root:into"),
    program(&["gdb", "lldb"], Unknown,
        "ex|iex|x|ix|eval-command|command|init-command|init-eval-command|source|one-line:script")
        .with_one_dash(),
    program(&["tcpdump"], Unknown, "-z:run -w:write -rF:read -ciGCWsyE:text"),
    program(&["xargs"], Unknown, "-a|arg-file:list -dEILnPs|delimiter|max-args|max-procs|max-chars|process-slot-var:text -eil|eof|max-lines|replace:optional"),
    program(&["cc", "gcc", "g++", "clang", "clang++", "rustc", "ld"], Unknown, "-o|output:write"),
    program(&["pandoc"], Unknown, "-o|output:write -F|filter|-L|lua-filter|pdf-engine|-d|defaults:script"),
    program(&["sqlite3"], Unknown,
        "cmd|init|vfs:script separator|newline|nullvalue|lookaside|mmap|maxsize|pagecache|heap|key:text").with_one_dash(),
    program(&["psql"], Unknown,
        "-c|command:statement -f|file:script -oL|output|log-file:write \
         -vPdUhpFRT|variable|set|pset|dbname|username|host|port|field-separator|record-separator|table-attr:text"),
    program(&["mysql"], Unknown,
        "-e|execute:statement defaults-file|defaults-extra-file|pager|plugin-dir|default-auth:script tee:write \
         -hPuSD|host|port|user|socket|database|default-character-set|init-command|protocol:text -p|password:optional"),
    program(&["fzf", "sk"], Unknown, "preview|bind|with-shell|listen-unsafe|cmd:script history:write -qfdn|query|filter:text"),
    program(&["svn"], Unknown,
        "diff-cmd|diff3-cmd|editor-cmd|config-option|config-dir:script -F|file:read \
         -rmclgx|revision|message|change|limit|changelist|depth|extensions|username|password|targets|set-depth:text"),
    program(&["hg"], Unknown,
        "config|config-file|-R|repository|cwd:script -lX|logfile:read -rmudI|rev|message|user|date|include|exclude|encoding:text"),
    program(&["ssh-keygen"], Unknown, "-Dw:script -f:write -sMGT:read -CNPtbaImnOrVWzYZFREIJ:text"),
    program(&["ssh-add"], Unknown, "-sSeH:script -tEhT:text"),
];

#[cfg(test)]
mod tests {
    use super::super::Kind;
    use super::*;

    #[test]
    fn every_entry_can_be_read_and_every_name_is_one_programs() {
        let mut seen = std::collections::BTreeSet::new();
        for program in PROGRAMS {
            for name in program.names {
                assert!(seen.insert(*name), "{name} stands twice");
            }
            for entry in program.options.split_whitespace() {
                let (names, kind) = entry.rsplit_once(':').unwrap();
                assert!(Kind::named(kind).is_some(), "{entry}");
                assert!(names.split('|').all(|name| !name.is_empty() && name != "-"), "{entry}");
            }
        }
    }
}
