// Builds dist/refdesk.js (one file, two stages) and dist/refdesk.meta.json; with --test, the tests for `node --test`.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const shared = { bundle: true, target: "es2022", charset: "utf8", jsx: "automatic", jsxImportSource: "preact" };

/** What the built file depends on, in a fixed order; tests/test_widget_dist.py computes the same. */
function sourceHash() {
  const files = readdirSync("src").sort().map((name) => `src/${name}`);
  const hash = createHash("sha256");
  for (const file of [...files, "build.mjs", "package-lock.json"]) hash.update(file + "\0").update(readFileSync(file)).update("\0");
  return hash.digest("hex");
}

if (process.argv.includes("--test")) {
  rmSync(".test-build", { recursive: true, force: true });
  const tests = readdirSync("test").filter((name) => /\.test\.tsx?$/.test(name));
  await build({
    ...shared,
    entryPoints: tests.map((name) => `test/${name}`),
    outdir: ".test-build",
    outExtension: { ".js": ".mjs" },
    format: "esm",
    platform: "node",
    packages: "external",
  });
} else {
  mkdirSync("dist", { recursive: true });
  await build({
    ...shared,
    entryPoints: ["src/refdesk.ts"],
    outfile: "dist/refdesk.js",
    minify: true,
    format: "iife",
    legalComments: "eof",
  });
  const script = readFileSync("dist/refdesk.js");
  const meta = {
    sha256: createHash("sha256").update(script).digest("hex"),
    source_sha256: sourceHash(),
    bytes: script.length,
    gzip_bytes: gzipSync(script, { level: 9 }).length,
  };
  writeFileSync("dist/refdesk.meta.json", JSON.stringify(meta, null, 2) + "\n");
  console.log(`dist/refdesk.js: ${(meta.gzip_bytes / 1024).toFixed(1)} KB gzip`);
  if (meta.gzip_bytes > 36 * 1024) {
    console.error("The budget is 36 KB gzip.");
    process.exitCode = 1;
  }
}
