import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { build } from "esbuild";
import { sourceUrl } from "./source-url.mjs";

const COMMANDS = "scripts/homeport";
const WITHOUT_SERVICE = path.resolve(COMMANDS, "package/without-service.ts");
/** What needs the service's own files: the package has WITHOUT_SERVICE in their place. */
const WITH_SERVICE = new Set(
  [
    "commands/backup",
    "commands/db",
    "commands/export",
    "commands/first-operator",
    "commands/rotate-keys",
    "release/catalog-file-store",
    "service-folder",
  ].map((name) => path.resolve(COMMANDS, `${name}.ts`)),
);
/** For packages in CommonJS. */
const REQUIRE =
  'import { createRequire as nodeRequire } from "node:module"; const require = nodeRequire(import.meta.url);';
const LICENSE = /^licen[cs]e(\.\w+)?$/i;

/**
 * Packs what the service hands out at /install: the command line and the client, as `npm pack` does, with the version in the
 * names of the files. The same sources make the same bytes. `run` runs a program.
 */
export async function packTools(folder, run) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const work = mkdtempSync(path.join(tmpdir(), "homeport-tools-"));
  try {
    const commandLine = path.join(work, "homeport");
    await writeCommandLine(commandLine);
    run(process.execPath, "clients/js/scripts/build.mjs");
    const client = path.join(work, "client");
    writeClient(client);
    for (const tool of [commandLine, client]) pack(tool, folder, run);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** The fields that both packages have from the service's package.json. */
function shared() {
  const { version, license, homepage, repository, engines } = readJson("package.json");
  return { version, license, homepage, repository, engines };
}

/** `@homeport/cli`: the commands with all packages that they need, and the licenses of those. */
async function writeCommandLine(folder) {
  mkdirSync(path.join(folder, "dist"), { recursive: true });
  const { metafile } = await build({
    entryPoints: [`${COMMANDS}/homeport.ts`],
    outdir: path.join(folder, "dist"),
    outExtension: { ".js": ".mjs" },
    banner: { js: `#!/usr/bin/env node\n${REQUIRE}` },
    bundle: true,
    splitting: true,
    minify: true,
    metafile: true,
    legalComments: "none", // LICENSES.txt
    plugins: [withoutService],
    platform: "node",
    format: "esm",
    target: "node20",
    logLevel: "warning",
  });
  const outputs = removeUnreachable(metafile.outputs);
  const description = "The command line of Homeport: publishes releases and operates a service at a URL.";
  writeManifest(folder, {
    name: "@homeport/cli",
    description,
    ...shared(),
    type: "module",
    sideEffects: ["./dist/*.mjs"],
    bin: { homeport: "dist/homeport.mjs" },
    exports: { "./package.json": "./package.json" },
    files: ["dist", "LICENSES.txt"],
  });
  copyFileSync(`${COMMANDS}/package/README.md`, path.join(folder, "README.md"));
  copyFileSync("LICENSE", path.join(folder, "LICENSE"));
  writeFileSync(path.join(folder, "LICENSES.txt"), licensesOf(outputs));
}

/**
 * Replaces what needs the service's own files. Nothing in lib runs when it is loaded, so what no command uses is left out.
 * @type {import("esbuild").Plugin}
 */
const withoutService = {
  name: "without-service",
  setup({ onResolve, resolve }) {
    onResolve({ filter: /^\.|^@\// }, async ({ path: name, pluginData, kind, importer, resolveDir }) => {
      if (pluginData === "resolved" || kind === "entry-point" || importer.includes("node_modules")) return undefined;
      const { path: file, errors } = await resolve(name, { kind, importer, resolveDir, pluginData: "resolved" });
      return { path: WITH_SERVICE.has(file) ? WITHOUT_SERVICE : file, errors, sideEffects: false };
    });
  },
};

/** Removes the files that only code imports which was left out. Returns the others. */
function removeUnreachable(outputs) {
  const reached = new Set(Object.keys(outputs).filter((file) => outputs[file].entryPoint?.endsWith("/homeport.ts")));
  for (const file of reached)
    for (const { path: next, external } of outputs[file].imports) if (!external) reached.add(next);
  for (const file of Object.keys(outputs)) if (!reached.has(file)) rmSync(file);
  return [...reached].map((file) => outputs[file]);
}

/** The licenses of the packages whose code is in the files. */
function licensesOf(outputs) {
  const inputs = outputs.flatMap(({ inputs }) =>
    Object.entries(inputs).flatMap(([file, { bytesInOutput }]) => (bytesInOutput > 0 ? file : [])),
  );
  const folders = new Set(inputs.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []));
  const texts = [...folders].sort().map((folder) => {
    const { name, version, license } = readJson(path.join(folder, "package.json"));
    const file = readdirSync(folder).find((file) => LICENSE.test(file));
    return `${name} ${version} (${license})\n\n${file ? readFileSync(path.join(folder, file), "utf8").trim() : ""}\n`;
  });
  return `dist contains parts of these packages:\n\n${texts.join(`\n${"-".repeat(80)}\n\n`)}`;
}

/** `@homeport/client`, without what builds it. */
function writeClient(folder) {
  const { private: _, scripts: __, ...manifest } = readJson("clients/js/package.json");
  mkdirSync(folder, { recursive: true });
  writeManifest(folder, { ...manifest, ...shared() });
  cpSync("clients/js/dist", path.join(folder, "dist"), { recursive: true });
  copyFileSync("LICENSE", path.join(folder, "LICENSE"));
  const readme = readFileSync("clients/js/README.md", "utf8");
  writeFileSync(path.join(folder, "README.md"), readme.replaceAll("](../../", `](${sourceUrl(shared())}/`));
}

/** The package in a folder, as NAME-VERSION.tgz, with the folder's name. */
function pack(source, folder, run) {
  run("npm", "pack", source, "--pack-destination", source, "--ignore-scripts", "--no-update-notifier");
  const packed = readdirSync(source).find((name) => name.endsWith(".tgz"));
  copyFileSync(path.join(source, packed), path.join(folder, `${path.basename(source)}-${shared().version}.tgz`));
}

function writeManifest(folder, manifest) {
  writeFileSync(path.join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
}

function readJson(file) {
  return JSON.parse(readFileSync(file, "utf8"));
}
