import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { gzipSync } from "node:zlib";

/** Debian's name of each architecture, and that of Node.js, in which packages name their compiled parts. */
const ARCHITECTURES = { amd64: "x64", arm64: "arm64" };
const FROM = "deploy/debian";
const HOME = "usr/lib/homeport";
const DOC = "usr/share/doc/homeport";
const UNITS = "usr/lib/systemd/system";
/** Where the units of deploy/ find the service. */
const CHECKOUT = "/srv/homeport/current";
const { version, homepage } = JSON.parse(readFileSync("package.json", "utf8"));

// package-deb.mjs [FOLDER]: writes the Debian packages of the built service to a folder. The same build and
// SOURCE_DATE_EPOCH make the same bytes.
const [, , folder = "dist"] = process.argv;
process.env.SOURCE_DATE_EPOCH ??= run("git", "log", "-1", "--format=%ct").trim();
const work = mkdtempSync(path.join(tmpdir(), "homeport-deb-"));
try {
  const root = path.join(work, "root");
  writeRoot(root);
  mkdirSync(folder, { recursive: true });
  for (const [architecture, cpu] of Object.entries(ARCHITECTURES)) writePackage(root, architecture, cpu);
} finally {
  rmSync(work, { recursive: true });
}

/** Writes what all architectures share, with the compiled parts of each. */
function writeRoot(root) {
  run(process.execPath, "scripts/package.mjs", path.join(root, HOME));
  symlinkSync("/etc/homeport/env", path.join(root, HOME, ".env"));
  const add = (name, content, mode = 0o644) => {
    mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
    writeFileSync(path.join(root, name), content);
    chmodSync(path.join(root, name), mode);
  };
  const from = (name) => readFileSync(name, "utf8");
  add("etc/homeport/env", from(`${FROM}/env`), 0o640);
  add("usr/bin/homeport", from(`${FROM}/homeport`), 0o755);
  add("usr/lib/sysusers.d/homeport.conf", from(`${FROM}/sysusers`));
  add("usr/lib/tmpfiles.d/homeport.conf", from(`${FROM}/tmpfiles`));
  for (const [name, text] of unitsIn("deploy")) add(`${UNITS}/${name}`, text);
  const homeport = (...args) => run(process.execPath, "scripts/run.mjs", "homeport", ...args);
  add("usr/share/bash-completion/completions/homeport", homeport("completion", "bash"));
  add("usr/share/man/man1/homeport.1.gz", gzipSync(homeport("manual"), { level: 9 }));
  add(`${DOC}/copyright`, from("LICENSE"));
  add(`${DOC}/changelog.gz`, gzipSync(from("CHANGELOG.md"), { level: 9 }));
  symlinkSync("../../../lib/homeport/docs", path.join(root, DOC, "docs"));
  add("usr/share/homeport/env.example", from(".env.example"));
  const caddyfile = from("deploy/Caddyfile").replaceAll("127.0.0.1:3001 127.0.0.1:3002", "127.0.0.1:3000");
  add("usr/share/homeport/Caddyfile", caddyfile);
}

/** The units, for the folder of the package, and one for a single instance, whose port is a setting. */
function unitsIn(source) {
  const names = readdirSync(source).filter((name) => name.endsWith(".service"));
  const units = names.map((name) => [
    name,
    readFileSync(path.join(source, name), "utf8").replaceAll(CHECKOUT, `/${HOME}`),
  ]);
  const { "homeport@.service": template } = Object.fromEntries(units);
  const single = template.replace(/^#.*/, "# See homeport@.service for more instances.").replace(" on port %i", "");
  return [...units, ["homeport.service", single.replace("PORT=%i METRICS_PORT=1%i", "METRICS_PORT=13000")]];
}

function writePackage(root, architecture, cpu) {
  const own = path.join(work, architecture);
  run("cp", "--archive", "--link", root, own);
  keepCompiledFor(own, cpu);
  run("chmod", "--recursive", "u=rwX,go=rX", own);
  chmodSync(path.join(own, "etc/homeport/env"), 0o640);
  const files = filesIn(own).sort();
  const sizes = files.map((file) => statSync(path.join(own, file)).size);
  const fields = {
    VERSION: version.replace("-", "~"),
    ARCHITECTURE: architecture,
    INSTALLED_SIZE: Math.ceil(sizes.reduce((sum, size) => sum + size, 0) / 1024),
  };
  const control = path.join(own, "DEBIAN");
  mkdirSync(control);
  const text = readFileSync(`${FROM}/control`, "utf8").replace(/@(\w+)@/g, (_, name) => fields[name]);
  writeFileSync(path.join(control, "control"), homepage ? `${text}Homepage: ${homepage}\n` : text);
  writeFileSync(path.join(control, "conffiles"), "/etc/homeport/env\n");
  writeFileSync(
    path.join(control, "md5sums"),
    files
      .filter((file) => !file.startsWith("etc/"))
      .map((file) => md5Line(own, file))
      .join(""),
  );
  cpSync(`${FROM}/templates`, path.join(control, "templates"));
  for (const script of ["postinst", "prerm", "postrm"]) {
    cpSync(`${FROM}/${script}`, path.join(control, script));
    chmodSync(path.join(control, script), 0o755);
  }
  const file = path.join(folder, `homeport_${fields.VERSION}_${architecture}.deb`);
  // One thread, because the number of threads changes the bytes. zstd takes a tenth of xz's time, and 20 % more space.
  run("dpkg-deb", "--root-owner-group", "--threads-max=1", "-Zzstd", "-z10", "--build", own, file);
  process.stdout.write(`${file}\n`);
}

/** Removes what packages have compiled for other machines. @throws Error if a package has nothing for this one */
function keepCompiledFor(root, cpu) {
  const compiled = filesIn(root).filter((file) => /\.(node|so|dylib|dll)$/.test(file));
  const isOwn = (file) => file.includes(`/prebuilds/linux-${cpu}/`);
  const packageOf = (file) => file.split("/prebuilds/")[0];
  const complete = compiled.filter(isOwn).map(packageOf);
  for (const file of compiled.filter((file) => !isOwn(file))) {
    if (!complete.includes(packageOf(file))) throw new Error(`${packageOf(file)} is not compiled for linux-${cpu}.`);
    rmSync(path.dirname(path.join(root, file)), { recursive: true, force: true });
  }
}

function filesIn(root) {
  const entries = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return entries.map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)));
}

function md5Line(root, file) {
  return `${createHash("md5")
    .update(readFileSync(path.join(root, file)))
    .digest("hex")}  ${file}\n`;
}

function run(program, ...args) {
  return execFileSync(program, args, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"], maxBuffer: 2 ** 24 });
}
