//! Attempts to get out of the sandbox, each made for real at every level that this machine offers. The table of
//! docs/SANDBOX.md is compared with this one.

use std::fs;
use std::io::Write as _;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;

use ona_testkit::{Project, run};
use serde_json::json;

use super::{at_level, lives};
use crate::project;

/// By what an attempt is known to have succeeded.
#[derive(Clone, Copy, Debug)]
enum Sign {
    /// It prints this word.
    Says,
    /// This file, below the directory outside, is there afterwards.
    Made(&'static str),
    /// It no longer has its first content.
    Changed(&'static str),
    /// The same, of a file in the work tree.
    ChangedHere(&'static str),
    /// This is there in the work tree.
    MadeHere(&'static str),
    /// The database has it.
    InDatabase,
    /// A process lives on that sleeps so long.
    Lives(&'static str),
}
use Sign::{Changed, ChangedHere, InDatabase, Lives, Made, MadeHere, Says};

/// Whether a level stops it.
type Stops = bool;
const YES: Stops = true;
const NO: Stops = false;

type Attempt = (&'static str, &'static str, Sign, Stops, Stops);

/// What is tried, by which command, its sign, and whether bwrap (both levels) and Landlock stop it.
const ATTEMPTS: &[Attempt] = &[
    ("write a new file outside", "echo x >$OUT/a1", Made("a1"), YES, YES),
    ("overwrite a file outside", "echo x >$OUT/f1", Changed("f1"), YES, YES),
    ("append to a file outside", "echo x >>$OUT/f2", Changed("f2"), YES, YES),
    ("remove a file outside", "rm -f $OUT/f3", Changed("f3"), YES, YES),
    ("truncate a file outside", "truncate -s 0 $OUT/f4", Changed("f4"), YES, YES),
    ("move a file to the outside", "echo x >m && mv m $OUT/a2", Made("a2"), YES, YES),
    (
        "replace a file outside by renaming",
        "echo x >m2 && mv -f m2 $OUT/f5",
        Changed("f5"),
        YES,
        YES,
    ),
    ("write through a symbolic link", "ln -s $OUT/f6 l6; echo x >l6", Changed("f6"), YES, YES),
    ("write through a hard link", "ln $OUT/f7 h7; echo x >>h7", Changed("f7"), YES, YES),
    (
        "link a file of the work tree to the outside",
        "echo x >s; ln s $OUT/a3",
        Made("a3"),
        YES,
        YES,
    ),
    ("make a directory outside", "mkdir $OUT/a4", Made("a4"), YES, YES),
    ("make a symbolic link outside", "ln -s / $OUT/a5", Made("a5"), YES, YES),
    ("write through /proc/self/root", "echo x >/proc/self/root$OUT/f8", Changed("f8"), YES, YES),
    (
        "write through /proc/self/cwd",
        "cd $OUT && echo x >/proc/self/cwd/f9",
        Changed("f9"),
        YES,
        YES,
    ),
    (
        "write through /dev/fd of a directory",
        "exec 7<$OUT; echo x >/proc/self/fd/7/f10",
        Changed("f10"),
        YES,
        YES,
    ),
    ("write through an inherited descriptor", "echo x >&9", Changed("f11"), YES, YES),
    ("write a shell start-up file", "echo x >>$HOME/.bashrc", Changed("../home/.bashrc"), YES, YES),
    ("read an SSH key", "cat $HOME/.ssh/id_ed25519", Says, YES, YES),
    ("read AWS credentials", "cat $HOME/.aws/credentials", Says, YES, YES),
    ("read GnuPG's keys", "cat $HOME/.gnupg/secring", Says, YES, YES),
    ("read .netrc", "cat $HOME/.netrc", Says, YES, YES),
    ("read git's credentials", "cat $HOME/.git-credentials", Says, YES, YES),
    ("read GitHub's token", "cat $HOME/.config/gh/hosts.yml", Says, YES, YES),
    ("read Docker's configuration", "cat $HOME/.docker/config.json", Says, YES, YES),
    ("read the configuration of kubectl", "cat $HOME/.kube/config", Says, YES, YES),
    ("read Claude Code's credentials", "cat $HOME/.claude/.credentials.json", Says, YES, YES),
    ("read what denyRead names", "cat $OUT/private/key", Says, YES, YES),
    ("read it through a symbolic link", "ln -s $OUT/private p; cat p/key", Says, YES, YES),
    ("read it through /proc/self/root", "cat /proc/self/root$OUT/private/key", Says, YES, YES),
    ("read it through a hard link", "ln $OUT/private/key k && cat k", Says, YES, YES),
    ("read it after moving what it lies in", "mv a a9; cat a9/b/key", Says, YES, YES),
    ("read ona's configuration", "cat $HOME/.config/ona/vault", Says, YES, YES),
    ("read the database", "head -c 15 $DB | grep -aq SQLite && echo ESCAPED", Says, YES, YES),
    ("write the database", "echo ESCAPED-HERE >>$DB", InDatabase, YES, YES),
    ("find a credential in its own environment", "env", Says, YES, YES),
    (
        "find one in /proc/*/environ",
        "cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep -a ESCAPED",
        Says,
        YES,
        YES,
    ),
    (
        "find one in the memory of a process outside",
        "read -r a </proc/$VICTIM/maps; dd if=/proc/$VICTIM/mem bs=4096 skip=$((16#${a%%-*}/4096)) count=1 | grep -aq ELF && echo ESCAPED",
        Says,
        YES,
        YES,
    ),
    (
        "connect to a server on this machine",
        "exec 3<>/dev/tcp/127.0.0.1/$PORT && cat <&3",
        Says,
        YES,
        YES,
    ),
    (
        "send a datagram to this machine",
        "echo x >/dev/udp/127.0.0.1/$UDP && echo ESCAPED-$?",
        Sign::Made("datagram"),
        YES,
        YES,
    ),
    (
        "reach it through the proxy",
        "exec 3<>/dev/tcp/127.0.0.1/3128 && printf 'CONNECT 127.0.0.1:%s HTTP/1.1\\r\\n\\r\\n' $PORT >&3 && cat <&3",
        Says,
        YES,
        YES,
    ),
    (
        "connect to a Unix socket",
        "perl -MIO::Socket::UNIX -e 'print IO::Socket::UNIX->new($ENV{SOCK})->getline'",
        Says,
        YES,
        YES,
    ),
    (
        "connect to an abstract Unix socket",
        "perl -MSocket -e 'socket(S,AF_UNIX,SOCK_STREAM,0) or exit; connect(S,pack(\"Sxa*\",AF_UNIX,$ENV{ABSTRACT})) and print scalar <S>'",
        Says,
        YES,
        YES,
    ),
    (
        "send a datagram to a Unix socket through a pair",
        "perl -MSocket -e 'socketpair(A,B,AF_UNIX,SOCK_DGRAM,0) and send(A,\"x\",0,pack_sockaddr_un($ENV{DGRAM})) and print \"ESCAPED\"'",
        Says,
        YES,
        YES,
    ),
    (
        "open a raw socket",
        "perl -MSocket -e 'socket(S,17,3,0) and print \"ESCAPED\"'",
        Says,
        YES,
        YES,
    ),
    ("signal a process outside", "kill -0 $VICTIM && echo ESCAPED", Says, YES, YES),
    (
        "trace a process outside",
        "perl -e 'print \"ESCAPED\" if syscall(101,16,$ENV{VICTIM}+0,0,0)==0'",
        Says,
        YES,
        YES,
    ),
    ("keep a child alive", "setsid sleep $ALIVE.1 >/dev/null 2>&1 & sleep 0", Lives("1"), YES, YES),
    (
        "keep one alive that forked twice, without a mark",
        "(env -i setsid bash -c \"sleep $ALIVE.2 & disown\" >/dev/null 2>&1 &)",
        Lives("2"),
        YES,
        YES,
    ),
    (
        "write a git hook",
        "echo x >.git/hooks/pre-commit",
        MadeHere(".git/hooks/pre-commit"),
        YES,
        NO,
    ),
    ("change git's configuration", "echo x >>.git/config", ChangedHere(".git/config"), YES, NO),
    ("move .git away and make another", "mv .git g2 && mkdir .git", MadeHere("g2"), YES, NO),
    (
        "change the project's settings",
        "echo {} >.claude/settings.json",
        ChangedHere(".claude/settings.json"),
        YES,
        NO,
    ),
    (
        "plant settings of ona",
        "mkdir -p .ona && echo {} >.ona/settings.json",
        MadeHere(".ona/settings.json"),
        YES,
        NO,
    ),
    (
        "plant an intent",
        "mkdir -p .orchestration && echo x >.orchestration/active_intents.yaml",
        MadeHere(".orchestration/active_intents.yaml"),
        YES,
        NO,
    ),
    (
        "plant evidence",
        "mkdir -p runs/work-1 && echo {} >runs/work-1/bead.json",
        MadeHere("runs/work-1/bead.json"),
        YES,
        NO,
    ),
    (
        "replace the file that a protected name stands for",
        "rmdir runs; ln -s /tmp runs",
        MadeHere("runs"),
        YES,
        NO,
    ),
    ("write a file that denyWrite names", "echo x >kept/file", ChangedHere("kept/file"), YES, NO),
];

/// The same, of what concerns the whole machine.
const ATTEMPTS_AT_THE_MACHINE: &[Attempt] = &[
    (
        "change a setting of the kernel",
        "echo ESCAPED >/proc/sys/kernel/domainname && cat /proc/sys/kernel/domainname",
        Says,
        YES,
        YES,
    ),
    (
        "write to /sys",
        "for f in /sys/kernel/mm/transparent_hugepage/enabled; do cat $f >$f && echo ESCAPED; done",
        Says,
        YES,
        YES,
    ),
    (
        "trace the first process of its namespace",
        "perl -e 'print \"ESCAPED\" if syscall(101,0x4206,1,0,0)==0'",
        Says,
        YES,
        YES,
    ),
    ("make a device", "mknod dev b 254 0 && echo ESCAPED", Says, YES, YES),
    ("read the kernel's log", "head -c 1 /dev/kmsg && echo ESCAPED", Says, YES, YES),
    (
        "read a disk",
        "for d in /dev/vda /dev/sda /dev/nvme0n1 /dev/mem; do head -c 1 $d >/dev/null && echo ESCAPED; done",
        Says,
        YES,
        YES,
    ),
    ("mount something", "mkdir mnt; mount -t tmpfs none mnt && echo ESCAPED", Says, YES, YES),
    (
        "mount something in namespaces of its own",
        "unshare -Urm mount -t tmpfs none /mnt && echo ESCAPED",
        Says,
        YES,
        YES,
    ),
    ("unmount what protects .git", "umount .git && echo ESCAPED", Says, YES, YES),
    ("make the root writable again", "mount -o remount,rw / && echo ESCAPED", Says, YES, YES),
    (
        "enter the namespaces of another process",
        "nsenter -t $VICTIM -m true && echo ESCAPED",
        Says,
        YES,
        YES,
    ),
    ("change the root directory", "chroot / true && echo ESCAPED", Says, YES, YES),
    (
        "gain capabilities",
        "grep -q 'CapEff:.*[1-9a-f]' /proc/self/status && echo ESCAPED",
        Says,
        YES,
        YES,
    ),
    (
        "gain capabilities by clone in a user namespace",
        "perl -e '$|=1; $p=syscall(56,0x10000011,0,0,0,0); if($p==0){open F,\"</proc/self/status\"; print \"ESCAPED\" if grep {/CapEff:.*[1-9a-f]/} <F>; exit} waitpid($p,0)'",
        Says,
        YES,
        YES,
    ),
    (
        "gain capabilities by clone3 in a user namespace",
        "perl -e '$|=1; $a=pack(\"Q8\",0x10000000,0,0,0,17,0,0,0); $p=syscall(435,$a,64); if($p==0){open F,\"</proc/self/status\"; print \"ESCAPED\" if grep {/CapEff:.*[1-9a-f]/} <F>; exit} waitpid($p,0)'",
        Says,
        YES,
        YES,
    ),
    (
        "change the limits of a process outside",
        "perl -e '$l=pack(\"Q2\",0,0); print \"ESCAPED\" if syscall(302,$ENV{VICTIM}+0,4,$l,0)==0'",
        Says,
        YES,
        YES,
    ),
    (
        "slow a process outside down",
        "perl -e 'print \"ESCAPED\" if syscall(141,0,$ENV{VICTIM}+0,19)==0'",
        Says,
        YES,
        YES,
    ),
    (
        "use io_uring, which no filter sees",
        "perl -e 'print \"ESCAPED\" if syscall(425,1,0)>=0 or $!==14'",
        Says,
        YES,
        YES,
    ),
    ("open the user's terminal", "echo x >/dev/tty && echo ESCAPED", Says, YES, YES),
    ("read another program's temporary files", "cat /tmp/$MARK", Says, YES, NO),
];

/// What is around an attempt.
struct Around {
    project: Project,
    dir: tempfile::TempDir,
    victim: Child,
    tcp: TcpListener,
    udp: UdpSocket,
    _unix: (UnixListener, UnixListener, UnixDatagram),
    mark: tempfile::NamedTempFile,
}

impl Drop for Around {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
    }
}

impl Around {
    fn new() -> Self {
        // Not below /tmp, which a command has none of.
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let (outside, home) = (dir.path().join("outside"), dir.path().join("home"));
        for name in
            [".ssh", ".aws", ".gnupg", ".config/gh", ".docker", ".kube", ".claude", ".config/ona"]
        {
            fs::create_dir_all(home.join(name)).unwrap();
        }
        for name in [
            ".ssh/id_ed25519",
            ".aws/credentials",
            ".gnupg/secring",
            ".netrc",
            ".git-credentials",
            ".config/gh/hosts.yml",
            ".docker/config.json",
            ".kube/config",
            ".claude/.credentials.json",
            ".config/ona/vault",
        ] {
            fs::write(home.join(name), "ESCAPED\n").unwrap();
        }
        fs::write(home.join(".bashrc"), "first\n").unwrap();
        fs::create_dir_all(outside.join("private")).unwrap();
        fs::write(outside.join("private/key"), "ESCAPED\n").unwrap();
        for number in 1..=11 {
            fs::write(outside.join(format!("f{number}")), "first\n").unwrap();
        }
        let project = project();
        ona_testkit::git(&project.dir(), &["init", "-q"]);
        project.file("kept/file", "first\n");
        project.file("a/b/key", "ESCAPED\n");
        let mut mark = tempfile::Builder::new().prefix("ona-mark-").tempfile_in("/tmp").unwrap();
        mark.write_all(b"ESCAPED\n").unwrap();
        let name = format!("ona-escape-{}", std::process::id());
        let abstracted = SocketAddr::from_abstract_name(&name).unwrap();
        let unix = (
            UnixListener::bind(dir.path().join("home/socket")).unwrap(),
            UnixListener::bind_addr(&abstracted).unwrap(),
            UnixDatagram::bind(dir.path().join("home/datagrams")).unwrap(),
        );
        greet(&unix.0, &unix.1);
        let victim = Command::new("sleep").arg("6001").env("TOKEN", "ESCAPED").spawn().unwrap();
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = tcp.try_clone().unwrap();
        thread::spawn(move || {
            while let Ok((mut client, _)) = server.accept() {
                let _ = client.write_all(b"ESCAPED\n");
            }
        });
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        udp.set_nonblocking(true).unwrap();
        Self { project, dir, victim, tcp, udp, _unix: unix, mark }
    }

    fn outside(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("outside")
    }

    /// Makes these attempts, and tells which had success.
    fn escaped<'a>(&self, attempts: &[&'a Attempt]) -> (Vec<&'a str>, String) {
        let outside = self.outside();
        let mut script = String::from("export PATH=/usr/sbin:/sbin:$PATH\n");
        for (number, (_, line, ..)) in attempts.iter().enumerate() {
            script.push_str(&format!(
                "echo '== {number} =='\n( {line}\n ) 2>&1 </dev/null | head -c 2000\necho\n"
            ));
        }
        self.project.file("attempts.sh", script);
        self.project.file(
            ".claude/settings.json",
            json!({"sandbox": {"enabled": true, "filesystem": {
                "denyRead": [outside.join("private"), "./a/b"], "denyWrite": ["./kept"],
            }}})
            .to_string(),
        );
        let settings = self.project.content(".claude/settings.json");
        let git = self.project.content(".git/config");
        let call = json!({"tool": "Bash", "input": {"command": "bash attempts.sh"}}).to_string();
        let mut command = self.project.command("bash");
        command
            .args(["-c", "exec 9>>\"$0\"; exec \"$@\""])
            .args([outside.join("f11").as_os_str(), env!("CARGO_BIN_EXE_ona").as_ref()])
            .args(["--eval", &call]);
        command
            .env("ONA_TRUST", "1")
            .env("HOME", self.dir.path().canonicalize().unwrap().join("home"))
            .env("ANTHROPIC_API_KEY", "ESCAPED-KEY")
            .env("OUT", &outside)
            .env("DB", self.project.database())
            .env("VICTIM", self.victim.id().to_string())
            .env("PORT", self.tcp.local_addr().unwrap().port().to_string())
            .env("UDP", self.udp.local_addr().unwrap().port().to_string())
            .env("SOCK", outside.join("../home/socket"))
            .env("DGRAM", outside.join("../home/datagrams"))
            .env("ABSTRACT", format!("ona-escape-{}", std::process::id()))
            .env("ALIVE", alive())
            .env("MARK", self.mark.path().file_name().unwrap());
        let ran = run(&mut command);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let content = ona_testkit::parse_report(&ran.stdout).unwrap().content;
        let said = |number: usize| {
            let begin = format!("== {number} ==\n");
            let rest = content.split_once(&begin).map_or("", |(_, rest)| rest);
            rest.split("\n== ").next().unwrap_or(rest).contains("ESCAPED")
        };
        let is_first = |path: &Path| fs::read_to_string(path).is_ok_and(|text| text == "first\n");
        let mut datagram = [0; 8];
        let success = attempts.iter().enumerate().filter(|(number, (_, _, sign, ..))| match sign {
            Says => said(*number),
            InDatabase => {
                let bytes = fs::read(self.project.database()).unwrap();
                bytes.windows(12).any(|part| part == b"ESCAPED-HERE")
            }
            Made("datagram") => self.udp.recv(&mut datagram).is_ok(),
            Made(name) => fs::symlink_metadata(outside.join(name)).is_ok(),
            Changed(name) => !is_first(&outside.join(name)),
            ChangedHere(".git/config") => {
                fs::read_to_string(self.project.path(".git/config")).ok() != Some(git.clone())
            }
            ChangedHere(".claude/settings.json") => {
                self.project.content(".claude/settings.json") != settings
            }
            ChangedHere(name) => !is_first(&self.project.path(name)),
            MadeHere(name) => fs::symlink_metadata(self.project.path(name)).is_ok(),
            Lives(end) => lives(&format!("{}.{end}", alive())),
        });
        (success.map(|(_, attempt)| attempt.0).collect(), content)
    }
}

/// How long processes sleep that are to live on: nobody else's do so as long.
fn alive() -> String {
    format!("6{}", std::process::id())
}

/// Whoever connects is greeted.
fn greet(one: &UnixListener, other: &UnixListener) {
    for listener in [one, other] {
        let listener = listener.try_clone().unwrap();
        thread::spawn(move || {
            while let Ok((mut client, _)) = listener.accept() {
                let _ = client.write_all(b"ESCAPED\n");
            }
        });
    }
}

fn check(level: &'static str, stops: fn(&Attempt) -> Stops) {
    let around = Around::new();
    if !at_level(&around.project, level) {
        return;
    }
    let all: Vec<&Attempt> = ATTEMPTS.iter().chain(ATTEMPTS_AT_THE_MACHINE).collect();
    let (escaped, content) = around.escaped(&all);
    let is_stopped = |what: &str| all.iter().any(|one| one.0 == what && stops(one));
    let unexpected: Vec<&&str> = escaped.iter().filter(|what| is_stopped(what)).collect();
    assert!(unexpected.is_empty(), "{level} does not stop: {unexpected:#?}\n{content}");
}

#[test]
fn bwrap_stops_what_it_says() {
    check("bwrap", |(.., bwrap, _)| *bwrap);
}

#[test]
fn bwrap_without_proc_stops_the_same() {
    check("bwrap-noproc", |(.., bwrap, _)| *bwrap);
}

#[test]
fn landlock_stops_what_it_says() {
    check("landlock", |(.., landlock)| *landlock);
}

/// Without a sandbox they succeed: so they are attempts. What would change the machine is left out.
#[test]
fn the_attempts_are_real() {
    const NOT_FOR_EVERYBODY: [&str; 11] = [
        // ona itself sees to these.
        "find a credential in its own environment",
        "keep a child alive",
        "keep one alive that forked twice, without a mark",
        "reach it through the proxy",
        "write the database",
        // What was moved away is not where it was.
        "write a git hook",
        // There is no such file then.
        "read it through a symbolic link",
        "replace the file that a protected name stands for",
        "write through a hard link",
        "read it through a hard link",
        "open a raw socket",
    ];
    let around = Around::new();
    assert!(at_level(&around.project, "none"));
    let all: Vec<&Attempt> = ATTEMPTS.iter().collect();
    let (escaped, content) = around.escaped(&all);
    let failed: Vec<&str> = all
        .iter()
        .map(|attempt| attempt.0)
        .filter(|what| !escaped.contains(what) && !NOT_FOR_EVERYBODY.contains(what))
        .collect();
    assert!(failed.is_empty(), "{failed:#?}\n{content}");
}

/// The rows of the page: the attempt, and what each level does about it.
pub(super) fn rows() -> Vec<String> {
    let word = |stops: Stops| if stops { "stopped" } else { "**open**" };
    ATTEMPTS
        .iter()
        .chain(ATTEMPTS_AT_THE_MACHINE)
        .map(|(what, _, _, bwrap, landlock)| {
            format!("| {what} | {} | {} |", word(*bwrap), word(*landlock))
        })
        .collect()
}
