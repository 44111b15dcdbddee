import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { sourceUrl } from "./build/source-url.mjs";

const HELP = `Usage: node scripts/release.mjs COMMAND

check TAG      exits with a message unless the tag is of this version, and CHANGELOG.md has its date and changes
notes          prints the changes of this version
files FOLDER   writes the files of the release to a new folder, with SHA256SUMS
version        writes package.json's version wherever it is named; "npm version" runs it
`;

const manifest = readJson("package.json");
const { version } = manifest;
const CLIENT = "clients/js/package.json";
/** A file, a folder or an image of a version: homeport-1.1.0.tgz, /srv/homeport/1.1.0, homeport:1.1.0. */
const NAMED = /(?<=\b(?:homeport|client)[:/_-]v?)\d+\.\d+\.\d+/g;

const [, , command, argument] = process.argv;
if (command === "check" && argument) check(argument);
else if (command === "notes") process.stdout.write(readChanges());
else if (command === "files" && argument) writeFiles(path.resolve(argument));
else if (command === "version") writeVersion();
else end(HELP);

function check(tag) {
  if (tag !== `v${version}`) end(`The tag ${tag} is not of version ${version}.\n`);
  readChanges();
}

/** The part of CHANGELOG.md about this version, whose links also lead to its files from elsewhere. */
function readChanges() {
  const parts = readFileSync("CHANGELOG.md", "utf8").split(/^## /m);
  const [heading = "", ...lines] = parts.find((part) => part.startsWith(`[${version}]`))?.split("\n") ?? [];
  const text = lines.join("\n").trim();
  if (!/ - \d{4}-\d\d-\d\d$/.test(heading) || text === "")
    end(`CHANGELOG.md has no date or no changes of ${version}.\n`);
  return `${text.replaceAll(/\]\((?!https?:|#)/g, `](${sourceUrl(manifest)}/`)}\n`;
}

function writeFiles(folder) {
  mkdirSync(folder); // throws if it exists
  process.env.SOURCE_DATE_EPOCH ??= outputOf("git", "log", "-1", "--format=%ct").trim();
  run(process.execPath, "scripts/build.mjs");
  copyFileSync(`.next/install/homeport-${version}.tgz`, `${folder}/homeport-cli-${version}.tgz`);
  copyFileSync(`.next/install/client-${version}.tgz`, `${folder}/homeport-client-${version}.tgz`);
  run("npm", "run", "package:deb", "--", folder);
  writeFileSync(`${folder}/homeport-${version}.cdx.json`, `${JSON.stringify(billOfMaterials(), null, 2)}\n`);
  const sums = readdirSync(folder).map((file) => `${sha256Of(path.join(folder, file))}  ${file}\n`);
  writeFileSync(path.join(folder, "SHA256SUMS"), sums.join(""));
}

/** What an installation has, in CycloneDX. With --omit=dev, npm 11 lists no package that a development package needs, too. */
function billOfMaterials() {
  const bill = JSON.parse(
    outputOf("npm", "sbom", "--sbom-format=cyclonedx", "--sbom-type=application", "--package-lock-only"),
  );
  const installed = Object.entries(readJson("package-lock.json").packages).filter(([, { dev }]) => !dev);
  const ids = new Set(
    installed.map(([file, { name = file.split("node_modules/").at(-1), version }]) => `${name}@${version}`),
  );
  delete bill.serialNumber; // random
  bill.metadata.timestamp = new Date(process.env.SOURCE_DATE_EPOCH * 1000).toISOString();
  bill.metadata.component.name = manifest.name; // npm has the folder's
  bill.components = bill.components.filter((one) => ids.has(one["bom-ref"]));
  bill.dependencies = bill.dependencies.flatMap(({ ref, dependsOn }) =>
    ids.has(ref) ? { ref, dependsOn: dependsOn.filter((one) => ids.has(one)) } : [],
  );
  return bill;
}

/** In the changelog, the API, the client, and in guides and files for deployments, which also name the version after it. */
function writeVersion() {
  const client = readJson(CLIENT);
  const [major, minor] = version.split(".").map(Number);
  for (const file of outputOf("git", "ls-files", "README.md", "clients", "deploy", "docs", "examples").split("\n")) {
    if (!/\.(md|ya?ml)$/.test(file)) continue;
    const text = readFileSync(file, "utf8");
    const changed = text.replaceAll(NAMED, (it) => (it === client.version ? version : `${major}.${minor + 1}.0`));
    if (changed !== text) writeFileSync(file, changed);
  }
  writeFileSync(CLIENT, `${JSON.stringify({ ...client, version }, null, 2)}\n`);
  const changelog = readFileSync("CHANGELOG.md", "utf8");
  const heading = `## [${version}] - ${new Date().toISOString().slice(0, 10)}`;
  if (!changelog.includes(`## [${version}]`)) {
    writeFileSync("CHANGELOG.md", changelog.replace("## [Unreleased]\n", `$&\n${heading}\n`));
  }
  run("npm", "run", "openapi");
}

function sha256Of(file) {
  return createHash("sha256").update(readFileSync(file)).digest("hex");
}

function readJson(file) {
  return JSON.parse(readFileSync(file, "utf8"));
}

function run(program, ...args) {
  const { status } = spawnSync(program, args, { stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}

function outputOf(program, ...args) {
  const { status, stdout } = spawnSync(program, args, {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
    maxBuffer: 2 ** 26,
  });
  if (status !== 0) process.exit(status ?? 1);
  return stdout;
}

function end(message) {
  process.stderr.write(message);
  process.exit(1);
}
