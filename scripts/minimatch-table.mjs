// Writes crates/intents/tests/fixtures/minimatch.tsv: what npm's minimatch says of patterns and paths, with the
// option S2 §2.2 names. Run it where minimatch is installed (`npm install --no-save minimatch@11.0.7`):
//
//   node scripts/minimatch-table.mjs > crates/intents/tests/fixtures/minimatch.tsv
//
// The table is the same each time: what looks random comes from a fixed seed.

import { createRequire } from "node:module"
import { pathToFileURL } from "node:url"
import { join } from "node:path"

// Looked for from where it is run, so that nothing has to be installed beside this file.
const require = createRequire(pathToFileURL(join(process.cwd(), "x.js")))
const { minimatch } = require("minimatch")
const { version } = require("minimatch/package.json")

const PATHS = [
	"a", "b", "ab", "abc", "a.b", ".a", ".git", "A", "1", "2", "10", "x y", "src", "README.md",
	"src/main.rs", "src/lib.rs", "src/.env", "src/a/b.rs", "src/a/b/c/d.rs", "src/.hid/x.ts", "src/a.test.ts",
	"tests/auth/login.rs", "tests/auth/.x.rs", "tests/auth/deep/x.rs", ".github/workflows/ci.yml",
	"docs/a.md", "docs/b/c.md", "app/[id]/page.tsx", "app/(auth)/page.tsx", "a/b", "a/b/c", "a/c/b", "b/a",
	"a{b}", "{a,b}", "a,b", "a*b", "a?b", "[a]", "]", "-", "!a", "#a", "a\\b", "$a", "${a,b}", "über/ä.rs", "a+b", "a(b", "?(", "a(a", "*(a", "}a{", "\\b{a",
]

const WRITTEN = [
	// names and stars
	"*", "?", "??", "a*", "*b", "a*b", "*.md", "*.rs", ".*", "*.*", "a?b", "src/*", "src/*.rs", "*/*", "*/*/*",
	"README.md", "SRC/*", "src/?ib.rs", "über/*", "über/?.rs", "x y", "a b",
	// any depth
	"**", "**/*", "**/*.rs", "src/**", "src/**/*.rs", "**/b", "a/**/b", "a/**/**/b", "**/.*", "**/.hid/**", "**/a/**",
	"src/**/d.rs", "**/src/**", "tests/auth/**", "*/**", "**/*/*", "src/*/**", ".github/**",
	// braces
	"{a,b}", "{a,b}/**", "src/{main,lib}.rs", "src/**/*.{rs,ts}", "{src,tests}/**/*.rs", "{a,{b,src}}/**", "a{,b}", "a{,b}{,c}",
	"{1..3}", "{01..10}", "{3..1}", "{a..c}", "{a..c..2}", "{1..10..9}", "{a}", "{a,b", "a,b", "{,a}", "{}", "a{}", "{{a,b}}",
	"{a,b}{,c}", "${a,b}", "\\{a,b}", "\\{a,b\\}", "{a\\,b,c}", "a{b}", "{a},b}", "{src/**,docs/*}", "{a..}", "{a,b}/{b,c}", "*.{md,}", "{*,a/*}",
	// classes
	"[ab]", "[a-c]", "[!a]", "[^a]", "[!a-z]", "[a-cx-z]*", "[]]", "[]a]", "[!]]", "[a-]", "[-a]", "[z-a]", "[!z-a]", "[a", "a[", "[]", "[!]",
	"[\\]]", "[*]", "a[*]b", "[[]a]", "src/[ml]*.rs", "app/\\[id\\]/**", "app/[[]id]/*", "[A-Z]", "[0-9]", "[0-9]*", "[äöü].rs", "über/[ä].rs", "[.]git", "[#]a", "[!#]a",
	// quoting
	"\\*", "a\\*b", "a\\?b", "\\a", "\\!a", "\\#a", "\\[a\\]", "a\\\\b", "\\\\*{a", "a\\", "\\$a", "src\\/main.rs",
	// comment, negation
	"#a", "#*", "!a", "!*", "!src/**", "!!a", "!!!a", "!src/*.rs", "![a]", "!{a,b}",
	// slashes and dots
	"a//b", "src///**", "a/../b", "src/a/../lib.rs", "a/b/../c", "docs/", "src/a/", "a/b/",
	// brackets that are names
	"app/(auth)/*", "(a)", "a(b", "a+b", "+a", "@a", "a)", "+(a", "a|b", "?(", "*(a", "[a/*", "}a{",
	// refused by ona
	"+(a|b)", "?(a)b", "*(a|b)", "@(a|b)", "!(a)", "src/!(main).rs", "src/+([a-z]).rs", "[[:alpha:]]", "[[:digit:]]*", "[![:alpha:]]", "*[a", "[ab][c", "?[",
	"a**", "**b", "src/**.rs", "a**b", "***", "src/***", "./a", "./src/**", "src/./main.rs", ".", "/a", "/src/**", "/**", "../a", "..", "a/..", "**/../a", "",
]

// A small generator of numbers, so that the table can be made again.
let seed = 20261116
const random = below => {
	seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
	return Math.floor((seed / 2 ** 32) * below)
}
const pick = list => list[random(list.length)]
const some = (most, make) => Array.from({ length: 1 + random(most) }, make).join("")

const piece = () => pick(["a", "b", "c", ".", "?", "[ab]", "[!b]", "{a,b}", "{a,bc}", "\\*", "{1..3}", "-", "x"])
const name = () => {
	const starred = random(3) === 0 ? pick(["*", "*b", "a*", "*.a", ".*"]) : some(3, piece)
	return /^\.+$/.test(starred) ? "a" : starred
}
const made = () => Array.from({ length: 1 + random(4) }, () => (random(4) === 0 ? "**" : name())).join("/")
const path = () => Array.from({ length: 1 + random(4) }, () => {
	const plain = some(3, () => pick(["a", "b", "c", ".", "x", "1"]))
	return /^\.+$/.test(plain) ? "b" : plain
}).join("/")

const rows = new Map()
const row = (pattern, file) => rows.set(`${pattern}\t${file}`, minimatch(file, pattern, { dot: true }))
for (const pattern of WRITTEN) {
	// All that match, and as many that do not, so that the table stays readable.
	const [hits, misses] = [[], []]
	for (const file of PATHS) (minimatch(file, pattern, { dot: true }) ? hits : misses).push(file)
	for (const file of hits.slice(0, 6)) row(pattern, file)
	for (let n = 0; n < 4 && misses.length; n++) row(pattern, pick(misses))
}
for (let tried = 0, hits = 0; hits < 400 && tried < 200000; tried++) {
	const [pattern, file] = [made(), path()]
	const hit = minimatch(file, pattern, { dot: true })
	if (hit || tried % 40 === 0) row(pattern, file)
	if (hit) hits++
}

console.log(`# minimatch ${version}, { dot: true }; made by scripts/minimatch-table.mjs`)
for (const [key, expected] of rows) console.log(`${key}\t${expected}`)
