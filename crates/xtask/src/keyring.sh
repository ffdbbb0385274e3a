# ona with a real Secret Service. `cargo xtask keyring` starts it on a bus of its own, in an empty directory, with HOME and
# AGENT_SDLC_DB in it, the program in ONA and acceptance/lib in LIB.
set -euo pipefail

fail() {
  printf 'FAIL: %s\n' "$*" >&2
  exit 1
}
has() { case $1 in *"$2"*) ;; *) fail "expected «$2» in: $1" ;; esac; }
seen() { printf 'ok: %s\n' "$*"; }
ona() { "$ONA" "$@"; }
# What ona has in the keyring, by name.
entries() { secret-tool search --all service ona 2>&1 | sed -n 's/^attribute.username = //p'; }
lock() {
  gdbus call --session --dest org.freedesktop.secrets --object-path /org/freedesktop/secrets \
    --method org.freedesktop.Secret.Service.Lock "['/org/freedesktop/secrets/collection/login']" > /dev/null
}
unlock() { printf pw | gnome-keyring-daemon --replace --unlock --components=secrets > /dev/null 2>&1; }
until_there() {
  for _ in $(seq 200); do
    [ -s "$1" ] && return
    sleep 0.05
  done
  fail "$1 did not come"
}

mkdir -p "$HOME" project
cd project
unlock
gdbus wait --session --timeout 10 org.freedesktop.secrets || fail 'the keyring did not start'
vault=$HOME/.local/state/ona/vault

id=$(ona operator show --json)
has "$(entries)" "operator $vault"
[ ! -e "$vault/vault" ] && [ ! -e "$vault/vault.key" ] || fail 'the key is in a file'
[ "$(ona operator show --json)" = "$id" ] || fail 'another process finds another key'
new=$(ona operator rotate --json)
has "$new" "$(printf %s "$id" | sed 's/^{\(.*\),"previous.*/\1/')"
seen 'the operator key is made in the keyring, found again and replaced'

node "$LIB/authority.mjs" serve ../office &
authority=$!
printf '{"text": "done"}\n{"text": "done"}\n' > ../replies
"$ONA" scripted-model ../replies > ../model 2> /dev/null &
model=$!
trap 'kill "$authority" "$model" 2> /dev/null || true' EXIT
until_there ../office
until_there ../model
address=$(sed -n 1p ../office)
export ONA_OAUTH_CLIENT_ID=the-client ONA_OAUTH_AUTHORIZE_URL=$address/authorize
export ONA_OAUTH_TOKEN_URL=$address/token ONA_OAUTH_REVOKE_URL=$address/revoke
export BROWSER="node $LIB/authority.mjs visit %s"
ANTHROPIC_BASE_URL=$(sed -n 1p ../model)
export ANTHROPIC_BASE_URL
has "$(ona auth login 2>&1)" "signed in as who@x.example; the login is kept in the system's keyring"
has "$(entries)" "login $vault"
[ "$(ona -p x)" = done ] || fail 'no turn with the login'
has "$(ona auth status --json)" '"class":"oauth","source":"login"'
seen 'a login is kept in the keyring and used'

has "$(ona --eval '{"tool":"Bash","input":{"command":"echo access-1-of-this-test"}}')" 'REDACTED:live'
if grep -rqa 'of-this-test' "$AGENT_SDLC_DB"* "$HOME/.local" .; then fail 'a token is in a file'; fi
seen 'no token is in the record or in a file'

call='{"tool":"Bash","input":{"command":"secret-tool lookup service ona"}}'
has "$(ona --eval "$call" --permission-mode bypassPermissions)" 'denied by the rule'
seen 'no command of an agent asks the keyring for it'

lock
code=0
said=$(ona auth status 2>&1) || code=$?
[ "$code" = 1 ] || fail "status of a locked keyring: exit code $code"
has "$said" "is in the system's keyring, which cannot be used"
unlock
# The daemon that takes the old one's place needs a moment.
for _ in $(seq 100); do
  ona auth status > /dev/null 2>&1 && break
  sleep 0.05
done
has "$(ona auth status --json)" '"source":"login"'
seen 'a locked keyring is told, and loses nothing'

ona auth logout
case $(entries) in *login*) fail 'the login is still in the keyring' ;; esac
has "$(entries)" operator
seen 'signing out removes the login, and only that'

ONA_VAULT_PASSPHRASE='a long word' ona operator rotate > ../rotated
[ -e "$vault/vault" ] && [ ! -e "$vault/vault.key" ] || fail 'the passphrase makes no file'
[ -z "$(entries)" ] || fail 'something is left in the keyring'
has "$(ONA_VAULT_PASSPHRASE='a long word' ona operator show)" "$(sed -n 's/^id *//p' ../rotated)"
seen 'with a passphrase the file is used'
