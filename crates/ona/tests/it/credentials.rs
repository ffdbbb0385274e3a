//! Credentials: who gets them, and who does not.

use std::fs;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

use ona_provider::scripted::{Reply, Server};
use ona_testkit::{Project, report, run};
use serde_json::{Value, json};

use crate::gate::{governed, pre};
use crate::project;

/// The variables that hold credentials, with a marker in each.
const KEYS: [&str; 8] = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_CUSTOM_HEADERS",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN_FILE_DESCRIPTOR",
    "LM_STUDIO_API_KEY",
    "ONA_VAULT_PASSPHRASE",
    "OPENAI_API_KEY",
];

#[test]
fn commands_get_no_credentials_and_hooks_do() {
    let hook = "printenv > hook-env; exit 0";
    let project = governed(&json!({
        "permissions": {"allow": ["Bash"]},
        "env": {"OPENAI_API_KEY": "marker-of-settings"},
        "hooks": {"PreToolUse": [pre("Bash", hook)]},
    }));
    for background in [false, true] {
        let file = if background { "later-env" } else { "env" };
        // Its own environment, and what /proc shows of the programs above it.
        let command = format!(
            "printenv > {file}.part; tr '\\0' '\\n' < /proc/$PPID/environ | grep -v DESCRIPTOR >> {file}.part; \
             mv {file}.part {file}"
        );
        let input = json!({"command": command, "run_in_background": background});
        let mut call = project.eval_command("Bash", &input);
        call.envs(KEYS.map(|name| (name, format!("marker-{name}: x"))));
        assert!(!report(&mut call).is_error);
        while !project.path(file).exists() {
            std::thread::yield_now();
        }
        let env = project.content(file);
        assert!(env.matches("\nPATH=").count() > 1 && env.contains("AGENT_SDLC_DB"), "{env}");
        assert!(!env.contains("marker"), "{env}");
        for name in KEYS {
            assert!(!env.contains(name), "{name}: {env}");
        }
    }
    let env = project.content("hook-env");
    assert!(KEYS.iter().all(|name| env.contains(name)), "S0 §5.11: {env}");
}

/// A project whose operator has a vault.
fn with_vault() -> (Project, String) {
    let project = project();
    let vault = project.home().join(".local/state/ona/vault");
    fs::create_dir_all(&vault).unwrap();
    for file in ["vault", "vault.key"] {
        fs::write(vault.join(file), "the-vaults-key\n").unwrap();
    }
    (project, vault.display().to_string())
}

#[test]
fn stored_credentials_are_denied_in_every_mode() {
    let (project, vault) = with_vault();
    let state = project.home().join(".local/state").display().to_string();
    for mode in ["default", "acceptEdits", "bypassPermissions"] {
        let settings =
            json!({"permissions": {"allow": ["Bash", "Read", "Edit"], "defaultMode": mode}});
        fs::create_dir_all(project.home().join(".claude")).unwrap();
        fs::write(project.home().join(".claude/settings.json"), settings.to_string()).unwrap();
        let spelt = REACHING.iter().map(|line| {
            let line = line.replace("%V", &vault).replace("%S", &state);
            ("Bash", json!({"command": line}))
        });
        for (tool, input) in [
            ("Read", json!({"file_path": format!("{vault}/vault.key")})),
            ("Write", json!({"file_path": format!("{vault}/vault.key"), "content": "x"})),
            ("Grep", json!({"pattern": "key", "path": vault})),
            ("Glob", json!({"pattern": "*", "path": vault})),
            ("Bash", json!({"command": format!("cat {vault}/vault.key")})),
            ("Bash", json!({"command": "cat ~/.local/state/ona/vault/vault.key"})),
            ("Bash", json!({"command": "cd ~/.local/state/ona && cat vault/vault.key"})),
            ("Bash", json!({"command": format!("grep -r key {state}")})),
            ("Bash", json!({"command": "tar cf all.tar ~/.local"})),
            ("Bash", json!({"command": format!("cp {vault}/* .")})),
            ("Bash", json!({"command": format!("rm -rf {vault}")})),
            ("Bash", json!({"command": "echo x | secret-tool lookup service ona"})),
            ("Bash", json!({"command": "sh -c 'gdbus call --dest org.freedesktop.secrets'"})),
        ]
        .into_iter()
        .chain(spelt)
        {
            let said = project.refused(tool, input.clone());
            assert!(
                said.contains("denied") && !said.contains("the-vaults-key"),
                "{mode} {input}: {said}"
            );
        }
        // A search above it leaves it out.
        let found = project.eval("Grep", json!({"pattern": "the-vaults-key", "path": state}));
        assert!(!found.content.contains("vault.key"), "{mode}: {}", found.content);
        project.ok("Bash", json!({"command": "rg x ~/. || true; ls"}));
        for line in MENTIONING {
            project.ok("Bash", json!({"command": line}));
        }
    }
    let said = project.refused("Bash", json!({"command": format!("cat {vault}/vault.key")}));
    assert!(said.contains("(builtin: ona's stored credentials)"), "{said}");
}

/// Lines that come to the vault, `%V`, in the state directory `%S`, or to the keyring, in other ways than by a file's
/// name.
const REACHING: &[&str] = &[
    "xargs cat <<< %V/vault.key",
    "read f <<< %V/vault.key; cat $f",
    "xargs cat <<E\n%V/vault.key\nE",
    "while read f; do cat $f; done <<E\n%V/vault.key\nE",
    "python3 - <<< \"print(open('%V/vault.key','rb').read())\"",
    "python3 <<'E'\nprint(open('%V/vault.key').read())\nE",
    "cat > s.sh <<E\ncat %V/vault.key\nE\nsh s.sh",
    "sh <<< 'cat %V/vault.key'",
    "bash -s <<< \"cd %V; cat vault.key\"",
    "echo \"cat %V/vault.key\" | sh",
    "echo %V/vault.key | xargs cat",
    "env secret-tool search --all service ona",
    "timeout 5 secret-tool clear service ona",
    "find . -maxdepth 0 -exec secret-tool search --all service ona \\;",
    "/lib64/ld-linux-x86-64.so.2 /usr/bin/secret-tool search --all service ona",
    "D=org.freedesktop.secrets; busctl --user tree $D",
    "S=secret-tool; $S search --all service ona",
    "echo service ona | xargs secret-tool search --all",
    "gdbus introspect --session -r --dest :1.0 --object-path /",
    "gdbus introspect --session -r --dest org.gnome.keyring --object-path /",
    "dbus-monitor --session",
    "cat ~/.local/share/keyrings/login.keyring",
    "HOME=%S/ona; cat ~/vault/vault.key",
    "curl -s file://%S/ona/v%61ult/vault.key",
    "curl -s 'file://%S/ona/{vault}/vault.key'",
    "curl -s 'file://localhost%S/ona/va[u-u]lt/vault.key'",
    "cd ~; cd .local; cd state; cd ona; cd vault; cat vault.key",
    "cd ~\ncd .local\ncd state\ncd ona\ncd vault\ncat vault.key",
    "CDPATH=%S/ona; cd vault; cat vault.key",
    "CDPATH=%S/ona bash -c 'cd vault; cat vault.key'",
    "shopt -s dotglob; cat ~/*/*/*/*/*.key",
    "shopt -s globstar dotglob; cat ~/**/vault.key",
    "python3 -m zipfile -c z.zip %S/ona",
    "python3 -m http.server -d ~/.local/state/ona",
    "cd ~/.local/state/ona && python3 -m http.server",
    "git -C ~ add -A",
    "find ~ -name vault.key | xargs cat",
    "a=(~/.local/state/ona); cat ${a[0]}/vault/vault.key",
    "echo 'secret-tool search --all service ona' | sh",
];

/// Lines that only mention them.
const MENTIONING: &[&str] = &[
    "echo 'the vault lives in ~/.local/state/ona/vault'",
    "echo org.freedesktop.secrets",
    "grep -rn org.freedesktop.secrets . || true",
    "git grep org.freedesktop.secrets || true",
    "cat /dev/null | grep org.freedesktop.secrets || true",
    "ls ~ && cd ~ && du -sh . && find ~ -maxdepth 1",
];

#[test]
fn stored_credentials_are_nobodys_instructions() {
    let (project, vault) = with_vault();
    fs::create_dir_all(project.home().join(".claude")).unwrap();
    fs::write(project.home().join(".claude/CLAUDE.md"), format!("see @{vault}/vault.key")).unwrap();
    let server = Server::start([Reply::say("done")]).unwrap();
    let ran = run(asking(&project, &server, &[]).env("ANTHROPIC_API_KEY", "k"));
    let sent = server.requests().iter().map(|request| request.body.to_string()).collect::<String>();
    assert!(!sent.contains("the-vaults-key"), "{sent}");
    assert!(ran.stderr.contains("which holds credentials"), "{}", ran.stderr);
}

#[test]
fn nobody_leaves_a_core_dump() {
    let project = governed(&json!({"permissions": {"allow": ["Bash"]}}));
    let call = json!({"tool": "Bash", "input": {"command": "ulimit -Sc"}}).to_string();
    let binary = env!("CARGO_BIN_EXE_ona");
    let script = format!("ulimit -c unlimited 2>/dev/null; exec {binary} --eval '{call}'");
    let ran = run(project.command("bash").args(["-c", &script]));
    let report = ona_testkit::parse_report(&ran.stdout).unwrap();
    assert_eq!(report.content.trim(), "0", "{}", ran.stderr);
}

/// `ona -p`, with nothing but the address of the model.
fn asking(project: &Project, server: &Server, args: &[&str]) -> Command {
    let args: Vec<&str> = ["-p", "go"].into_iter().chain(args.iter().copied()).collect();
    let mut command = project.ona(args);
    command.env("ANTHROPIC_BASE_URL", server.base_url());
    command
}

/// The headers with a credential that the model's server saw last.
fn seen(server: &Server) -> Vec<String> {
    let requests = server.requests();
    let headers = requests.last().map_or(&[][..], |request| &request.headers[..]);
    let secret = |name: &str| matches!(name, "x-api-key" | "authorization");
    headers.iter().filter(|(name, _)| secret(name)).map(|(n, v)| format!("{n}: {v}")).collect()
}

fn settings(project: &Project, settings: &Value) {
    fs::create_dir_all(project.home().join(".claude")).unwrap();
    fs::write(project.home().join(".claude/settings.json"), settings.to_string()).unwrap();
}

fn status(command: &mut Command) -> (Option<i32>, Value) {
    let ran = run(command);
    (ran.code, serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.stderr)))
}

#[test]
fn the_first_source_wins_and_status_says_which() {
    let project = project();
    let helper = json!({"apiKeyHelper": "echo helper-key-1"});
    settings(&project, &helper);
    let all = [
        ("ANTHROPIC_AUTH_TOKEN", "bearer"),
        ("ANTHROPIC_API_KEY", "api_key"),
        ("apiKeyHelper", "api_key_helper"),
        ("CLAUDE_CODE_OAUTH_TOKEN", "oauth"),
        ("ANTHROPIC_UNIX_SOCKET", "proxy"),
    ];
    for at in 0..=all.len() {
        let mut command = project.ona(["auth", "status", "--json"]);
        for (name, _) in all[at..].iter().filter(|(name, _)| *name != "apiKeyHelper") {
            command.env(name, "a-secret-value");
        }
        if at > 2 {
            settings(&project, &json!({}));
        }
        let (code, said) = status(&mut command);
        let expected = all.get(at);
        assert_eq!(said["source"], json!(expected.map(|(name, _)| name)), "{said}");
        assert_eq!(said["class"], expected.map_or("none", |(_, class)| class), "{said}");
        assert_eq!(code, Some(i32::from(expected.is_none())));
        assert!(!said.to_string().contains("a-secret-value"), "{said}");
    }
    settings(&project, &helper);
    let (_, said) = status(&mut project.ona(["auth", "status", "--json"]));
    let names: Vec<&str> = said["sources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["source"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "ANTHROPIC_AUTH_TOKEN",
            "ANTHROPIC_API_KEY",
            "apiKeyHelper",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "CLAUDE_CODE_OAUTH_TOKEN_FILE_DESCRIPTOR",
            "login",
            "ANTHROPIC_UNIX_SOCKET",
        ]
    );
    assert_eq!(
        said["sources"][2],
        json!({
            "source": "apiKeyHelper", "class": "api_key_helper", "present": true, "active": true,
        })
    );
    let shown = run(&mut project.ona(["auth", "status"])).stdout;
    assert!(shown.contains("source    apiKeyHelper (a command that prints a key)\n"), "{shown}");
    settings(&project, &json!({"model_config": {"provider": "lm_studio_local"}}));
    let mut command = project.ona(["auth", "status", "--json"]);
    command.env("LM_STUDIO_MODEL", "m").env("LM_STUDIO_API_KEY", "k");
    let (_, said) = status(&mut command);
    assert_eq!(said["sources"].as_array().unwrap().len(), 1, "{said}");
    assert_eq!(said["source"], "LM_STUDIO_API_KEY");
}

#[test]
fn every_source_reaches_the_model_as_it_should() {
    let project = project();
    let server = Server::start([(); 6].map(|()| Reply::say("done"))).unwrap();
    let ask = |set: &[(&str, &str)], args: &[&str]| {
        let mut command = asking(&project, &server, args);
        command.envs(set.iter().copied());
        let ran = run(&mut command);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        seen(&server)
    };
    assert_eq!(
        ask(&[("CLAUDE_CODE_OAUTH_TOKEN", "oauth-1")], &[]),
        ["authorization: Bearer oauth-1"]
    );
    settings(&project, &json!({"env": {"ANTHROPIC_AUTH_TOKEN": "of-settings-1"}}));
    assert_eq!(ask(&[], &[]), ["authorization: Bearer of-settings-1"]);
    // What the process itself is told wins over what settings say of the same variable.
    let own = [("ANTHROPIC_AUTH_TOKEN", "of-process")];
    assert_eq!(ask(&own, &[]), ["authorization: Bearer of-process"]);
    settings(&project, &json!({"apiKeyHelper": "echo key-of-helper"}));
    let both = ["authorization: Bearer key-of-helper", "x-api-key: key-of-helper"];
    let mut seen = ask(&[], &[]);
    seen.sort();
    assert_eq!(seen, both);
    // Hermetic: neither the user's settings nor tokens count, what the command line brings does.
    let given = json!({"apiKeyHelper": "echo key-of-option"}).to_string();
    let tokens = [("ANTHROPIC_AUTH_TOKEN", "t"), ("CLAUDE_CODE_OAUTH_TOKEN", "t")];
    let mut seen = ask(&tokens, &["--bare", "--settings", &given]);
    seen.sort();
    assert_eq!(seen, ["authorization: Bearer key-of-option", "x-api-key: key-of-option"]);
    let ran = run(asking(&project, &server, &["--bare"]).env("ANTHROPIC_AUTH_TOKEN", "t"));
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    // Nothing of a project's counts before it is trusted.
    settings(&project, &json!({}));
    project.file(".claude/settings.json", json!({"apiKeyHelper": "touch ran; echo k"}).to_string());
    let ran = run(&mut asking(&project, &server, &[]));
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(!project.path("ran").exists());
}

#[test]
fn a_helper_that_fails_asks_nobody_and_shows_nothing() {
    let project = project();
    let server = Server::start([]).unwrap();
    for (helper, why) in [
        ("echo s3cret-in-stderr >&2; exit 3", "it failed with exit code 3"),
        ("printf 's3cret-one\\ns3cret-two\\n'", "it printed no key"),
        ("sleep 60 & wait", "it took longer than 0.2 s"),
    ] {
        settings(&project, &json!({"apiKeyHelper": helper}));
        let mut command = asking(&project, &server, &["--output-format", "json"]);
        command.env("ONA_API_KEY_HELPER_TIMEOUT_MS", "200").env("CLAUDE_CODE_OAUTH_TOKEN", "lower");
        let ran = run(&mut command);
        assert_eq!(ran.code, Some(1), "{helper}: {}{}", ran.stdout, ran.stderr);
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(said.contains(why) && !said.contains("s3cret"), "{helper}: {said}");
        let kept =
            project.sql("select detail from events where detail like '%authentication_failed%'");
        assert!(!kept.is_empty() && !kept.concat().contains("s3cret"), "{helper}: {kept:?}");
    }
    assert!(server.requests().is_empty());
}

#[test]
fn a_refused_key_of_a_helper_is_asked_for_once_more() {
    let project = project();
    let refusal =
        || Reply::status(401, json!({"error": {"type": "authentication_error", "message": "no"}}));
    let server = Server::start([refusal(), Reply::say("done")]).unwrap();
    settings(
        &project,
        &json!({"apiKeyHelper": "echo x >> runs; echo key-number-$(grep -c x runs)"}),
    );
    let ran = run(&mut asking(&project, &server, &[]));
    assert_eq!((ran.code, ran.stdout.trim()), (Some(0), "done"), "{}", ran.stderr);
    assert_eq!(project.content("runs").lines().count(), 2);
    assert!(seen(&server).concat().contains("key-number-2"));
}

#[test]
fn a_token_is_handed_over_by_a_descriptor() {
    let project = project();
    let server = Server::start([(); 3].map(|()| Reply::say("done"))).unwrap();
    let name = "CLAUDE_CODE_OAUTH_TOKEN_FILE_DESCRIPTOR";
    let binary = env!("CARGO_BIN_EXE_ona");
    let with = |number: &str, redirect: &str, first: &str| {
        let script = format!("exec {redirect}; {first}exec {binary} -p go");
        let script = if redirect.is_empty() { format!("exec {binary} -p go") } else { script };
        let mut command = project.command("bash");
        command
            .args(["-c", &script])
            .env(name, number)
            .env("ANTHROPIC_BASE_URL", server.base_url());
        run(&mut command)
    };
    let ran = with("9", "9<<< ' token-by-descriptor '", "");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(seen(&server), ["authorization: Bearer token-by-descriptor"]);
    // A file is read from its current position, and a socket works too.
    project.file("tokens", "12345678token-behind");
    let ran = with("9", "9< tokens", "read -rN 8 -u 9 x; ");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(seen(&server), ["authorization: Bearer token-behind"]);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let gives = std::thread::spawn(move || {
        std::io::Write::write_all(&mut listener.accept().unwrap().0, b"token-by-socket\n").unwrap();
    });
    let ran = with("9", &format!("9<> /dev/tcp/127.0.0.1/{port}"), "");
    gives.join().unwrap();
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(seen(&server), ["authorization: Bearer token-by-socket"]);
    for (number, redirect) in
        [("9", ""), ("nine", ""), ("9", "9< /dev/null"), ("-1", ""), ("9", "9< /dev/zero")]
    {
        let ran = with(number, redirect, "");
        assert_eq!(ran.code, Some(2), "{number} {redirect}: {}", ran.stderr);
        assert!(ran.stderr.contains(name), "{}", ran.stderr);
    }
    assert_eq!(server.requests().len(), 3);
}

#[test]
fn a_secret_is_masked_however_a_command_encodes_it() {
    let project = governed(&json!({"permissions": {"allow": ["Bash"]}}));
    let secret = "marker/secret+value=1";
    let command = "printf %s \"$DEPLOY_TOKEN\" | base64; printf 'u:%s' \"$DEPLOY_TOKEN\" | base64 -w0; echo; \
                   echo marker%2Fsecret%2Bvalue%3D1 marker%2fsecret%2bvalue%3d1";
    let mut call = project.eval_command("Bash", &json!({"command": command}));
    let said = report(call.env("DEPLOY_TOKEN", secret)).content;
    assert_eq!(said.matches("[REDACTED:live]").count(), 4, "{said}");
    for form in ["bWFya2VyL3NlY3JldCt2YWx1", "bWFya2VyL3Nl", "marker%2"] {
        assert!(!said.contains(form), "{said}");
    }
    let kept = fs::read(project.database()).unwrap();
    let wal = fs::read(format!("{}-wal", project.database().display())).unwrap_or_default();
    let kept = String::from_utf8_lossy(&[kept, wal].concat()).into_owned();
    assert!(!kept.contains("bWFya2VyL3NlY3JldCt2YWx1"), "it is on the record");
}

#[test]
fn the_operators_key_is_made_once_and_only_its_public_part_is_shown() {
    let project = project();
    let (code, first) = status(&mut project.ona(["operator", "show", "--json"]));
    assert_eq!(code, Some(0));
    assert_eq!(first["previous"], json!([]));
    let (_, again) = status(&mut project.ona(["operator", "show", "--json"]));
    assert_eq!(again, first);
    let (_, next) = status(&mut project.ona(["operator", "rotate", "--json"]));
    let old = json!({"id": first["id"], "public_key": first["public_key"]});
    assert_ne!(next["id"], first["id"]);
    assert_eq!(next["previous"], json!([old]));
    let shown = run(&mut project.ona(["operator", "show"])).stdout;
    assert!(shown.starts_with(&format!("id          {}", next["id"].as_str().unwrap())), "{shown}");
    let vault = project.home().join(".local/state/ona/vault");
    for file in fs::read_dir(vault).unwrap() {
        let path = file.unwrap().path();
        let bytes = fs::read(&path).unwrap();
        assert!(!String::from_utf8_lossy(&bytes).contains("operator"), "{}", path.display());
    }
    // With a passphrase no key file is left, and without it nothing is shown or lost.
    let with =
        |word: &str, args: [&str; 2]| run(project.ona(args).env("ONA_VAULT_PASSPHRASE", word));
    assert_eq!(with("a long word", ["operator", "rotate"]).code, Some(0));
    assert!(!project.home().join(".local/state/ona/vault/vault.key").exists());
    for word in ["", "another word"] {
        for args in [["operator", "show"], ["operator", "rotate"]] {
            let ran = with(word, args);
            assert_eq!(ran.code, Some(1), "{}", ran.stderr);
            assert!(ran.stderr.contains("passphrase"), "{}", ran.stderr);
        }
    }
    assert!(
        with("a long word", ["operator", "show"]).stdout.contains(first["id"].as_str().unwrap())
    );
}

#[test]
fn an_agent_does_not_get_the_operators_key() {
    let project = governed(&json!({"permissions": {"allow": ["Bash"]}}));
    let binary = env!("CARGO_BIN_EXE_ona");
    for args in ["operator show", "operator rotate"] {
        let said =
            project.eval("Bash", json!({"command": format!("{binary} {args}; echo code $?")}));
        assert!(
            said.content.contains("only the operator decides about the operator's key"),
            "{}",
            said.content
        );
        assert!(said.content.contains("code 2"), "{}", said.content);
    }
}

#[test]
fn a_keyring_that_is_silent_counts_as_none() {
    let project = project();
    // A bus that takes connections and says nothing, and one that is not there.
    let silent = project.path("silent-bus");
    let _bus = UnixListener::bind(&silent).unwrap();
    let show = |bus: &Path| {
        let mut command = project.ona(["operator", "show", "--json"]);
        let ran =
            run(command.env("DBUS_SESSION_BUS_ADDRESS", format!("unix:path={}", bus.display())));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        ran.stdout
    };
    let made = show(&silent);
    let vault = project.home().join(".local/state/ona/vault");
    assert!(vault.join("vault").exists() && !vault.join("in-keyring").exists());
    assert_eq!(show(&project.path("no-bus")), made);
}
