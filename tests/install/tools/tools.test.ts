import { execFile, execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { cp, mkdtemp, readFile, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import packageManifest from "@/package.json" with { type: "json" };
import { packTools } from "@/scripts/build/tools.mjs";
import { CiIssuer } from "@/tests/support/auth/ci-issuer";
import { createKeyOf } from "@/tests/support/process/api-key";
import { runCommand } from "@/tests/support/process/command";
import { type Service, startForTest, startService } from "@/tests/support/process/service";
import { toolOutput, writeElectronUpdate, writeVelopack } from "@/tests/support/releases/tools/output";

const { version } = packageManifest;
const BUILT = ".next/install";
const FILES = [`client-${version}.tgz`, `homeport-${version}.tgz`];
const MAX_BYTES = 500_000;
/** The client is for ES modules alone, which Node.js 20.19 and newer also loads with require(). */
const ATTW = ["--profile", "esm-only"];

let service: Service;
let url: string;

beforeAll(async () => {
  service = await startService();
  url = service.url.replace("127.0.0.1", "localhost");
});
afterAll(() => service.end("SIGKILL"));

const newFolder = () => mkdtemp(path.join(tmpdir(), "homeport-app-"));

/** Runs a program elsewhere than in the repository, with an empty home: npm has kept nothing. Never rejects. */
async function run(program: string, args: string[], { cwd, ...env }: { cwd: string; [name: string]: string }) {
  const options = {
    cwd,
    env: { PATH: process.env.PATH ?? "", NODE_ENV: "test" as const, HOME: await newFolder(), ...env },
  };
  return promisify(execFile)(program, args, options).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }) => ({ code, stdout, stderr }) as { code: number; stdout: string; stderr: string },
  );
}

/** The folder of an app that has built a version for Windows, by electron-builder or by Velopack, whose packages are ZIP files. */
async function newApp(of: string, tool: "electron" | "velopack" = "electron") {
  const cwd = await newFolder();
  await writeFile(path.join(cwd, "package.json"), JSON.stringify({ private: true, scripts: { dist: "true" } }));
  await writeFile(path.join(cwd, "package-lock.json"), JSON.stringify({ lockfileVersion: 3, packages: {} }));
  const dist = toolOutput(path.join(cwd, "dist"));
  if (tool === "electron") await writeElectronUpdate(dist, "latest.yml", of, [`Example Setup ${of}.exe`]);
  else {
    const fields = { id: "Acme", version: of, os: "win", machineArchitecture: "x64" };
    await writeVelopack(dist, "win", [{ name: `Acme-${of}-full.nupkg`, fields, type: "Full" }]);
  }
  return cwd;
}

/** A package as npm installs it, in a folder of its own. */
async function install(file: string): Promise<string> {
  const cwd = await newFolder();
  expect(await run("npm", ["install", "--no-audit", `${url}/install/${file}`], { cwd })).toMatchObject({ code: 0 });
  return cwd;
}

const isServed = async (of: string) => (await service.fetch(`/api/download/windows?version=${of}&kind=update`)).ok;

const BLOCKS = [...readFileSync("docs/guides/publishing.md", "utf8").matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)];
/** The guide's first block of a language that has a text. */
const blockWith = (language: string, text: string) =>
  BLOCKS.find(([, of, block]) => of === language && block?.includes(text))?.[2] ?? "";

describe("publishing from CI, in an empty folder with nothing but Node.js", () => {
  test("the guide's shell commands publish with an API key", async () => {
    const cwd = await newApp("1.1.0");
    const key = await createKeyOf(service, "releases:write");
    await writeFile(path.join(cwd, ".homeport-key"), key);
    const commands = blockWith("sh", "HOMEPORT_API_KEY").replace("https://updates.example.com", url);
    expect(commands).toContain("npx --yes $HOMEPORT_URL/install/homeport.tgz release add-folder");
    const published = await run("bash", ["-euc", commands], { cwd, HOME: cwd });
    expect(published).toMatchObject({ code: 0, stdout: expect.stringContaining("core-windows-x64-1.1.0") });
    expect(published.stderr).not.toContain("This is homeport");
    expect(await isServed("1.1.0")).toBe(true);
  });

  test.each(["github", "gitlab"] as const)("the guide's steps for %s publish without a key", async (type) => {
    const issuer = await CiIssuer.start(type);
    onTestFinished(() => issuer.close());
    const of = type === "github" ? "1.2.0" : "1.3.0";
    const workflow = type === "github" ? ["--workflow", "release.yml", "--ref", "refs/tags/v*"] : [];
    const project = type === "github" ? "acme/app" : "acme/apps/app";
    const args = ["publishers", "add", type, project, ...workflow, "--product", "core", "--issuer", issuer.origin];
    expect(await runCommand("homeport", args, { DATA_DIR: service.dataDir })).toMatchObject({ code: 0 });
    const github = parse(blockWith("yaml", "actions/checkout")).jobs.publish.steps;
    const gitlab = parse(blockWith("yaml", "id_tokens")).publish.script;
    const lines = type === "github" ? github.flatMap((step: { run?: string }) => step.run ?? []) : gitlab;
    expect(lines).toHaveLength(2);
    const own = type === "github" ? issuer.actionsVariables : { HOMEPORT_ID_TOKEN: issuer.token(url) };
    const job = { cwd: await newApp(of, type === "github" ? "electron" : "velopack"), HOMEPORT_URL: url, ...own };
    const published = await run("bash", ["-euc", lines.join("\n")], job);
    expect(published).toMatchObject({ code: 0, stderr: expect.stringContaining(`the publisher ${project}`) });
    expect(await isServed(of)).toBe(true);
  });
});

describe("the command line", () => {
  test("says which version its service has, and that one's URL, which is that of the page", async () => {
    const cwd = await newFolder();
    await run("tar", ["xzf", path.resolve(BUILT, `homeport-${version}.tgz`)], { cwd });
    const manifest = path.join(cwd, "package/package.json");
    await writeFile(
      manifest,
      (await readFile(manifest, "utf8")).replace(`"version": "${version}"`, '"version": "1.0.9"'),
    );
    const env = { cwd, HOMEPORT_URL: url, HOMEPORT_API_KEY: await createKeyOf(service, "releases:read") };
    const { code, stdout, stderr } = await run("node", ["package/dist/homeport.mjs", "release", "list", "--json"], env);
    const [, other = ""] = /npx --yes (\S+)/.exec(stderr) ?? [];
    expect(stderr).toBe(
      `This is homeport 1.0.9, and the service has version ${version}. Use its own: npx --yes ${other}\n`,
    );
    expect([code, JSON.parse(stdout)]).toEqual([0, expect.any(Array)]);
    expect((await (await service.fetch("/install")).text()).includes(new URL(other).pathname)).toBe(true);
    expect((await run("npx", ["--yes", other, "--version"], { cwd })).stdout.trim()).toBe(version);
  });

  test("says where to run what needs the service's own files, and needs the service's URL for the rest", async () => {
    const cwd = await install("homeport.tgz");
    await writeFile(path.join(cwd, ".env"), "HOMEPORT_URL=http://localhost:1\nHOMEPORT_API_KEY=of-another-program\n");
    const homeport = (...args: string[]) => run(path.join(cwd, "node_modules/.bin/homeport"), args, { cwd });
    for (const line of [
      "backup --to x",
      "restore x",
      "db move --to x",
      "export --to x",
      "import x",
      "accounts rotate-keys",
      "first-operator",
    ]) {
      const { code, stderr } = await homeport(...line.split(" "));
      expect([line, code, stderr]).toEqual([line, 1, expect.stringContaining("Run it on the service's machine")]);
    }
    const { code, stdout } = await homeport("release", "list", "--catalog", "x", "--json");
    expect([code, JSON.parse(stdout).error.code]).toEqual([1, "service_files_required"]);
    expect(await homeport("keys", "list")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("Set HOMEPORT_URL"),
    });
  });
});

describe("the packages", () => {
  test("are served with their hashes and for good under the name with the version, and briefly under the other", async () => {
    for (const file of FILES) {
      const bytes = await readFile(path.join(BUILT, file));
      const sha256 = createHash("sha256").update(bytes).digest("hex");
      const pinned = await service.fetch(`/install/${file}`);
      expect(Buffer.from(await pinned.arrayBuffer()).equals(bytes)).toBe(true);
      expect(pinned.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
      const newest = `/install/${file.replace(`-${version}`, "")}`;
      const etag = `"sha256-${sha256}"`;
      const known = await service.fetch(newest, { headers: { "if-none-match": etag } });
      expect([known.status, known.headers.get("etag"), known.headers.get("cache-control")]).toEqual([
        304,
        etag,
        "public, max-age=60",
      ]);
      const part = await service.fetch(newest, { headers: { range: "bytes=-10" } });
      expect([part.status, Buffer.from(await part.arrayBuffer())]).toEqual([206, bytes.subarray(-10)]);
      expect(await (await service.fetch("/install")).text()).toContain(sha256);
    }
  });

  test("of another version are not found, and npm prints the URL of the one that there is", async () => {
    const cwd = await newFolder();
    const { code, stderr } = await run("npm", ["install", `${url}/install/client-1.0.9.tgz`], { cwd });
    expect([code, stderr]).toEqual([1, expect.stringContaining(`/install/client-${version}.tgz`)]);
    for (const file of ["other.tgz", "homeport-.tgz.sig", "..%2fbuild.json", "%00"]) {
      expect([file, (await service.fetch(`/install/${file}`)).status]).toEqual([file, 404]);
    }
  });

  test("are withheld with INSTALL_PAGE=off, as the page is", async () => {
    const without = await startForTest({ INSTALL_PAGE: "off" });
    for (const name of ["/install", "/install/homeport.tgz", `/install/${FILES[0]}`]) {
      expect([name, (await without.fetch(name)).status]).toEqual([name, 404]);
    }
  });

  test("are small, depend on nothing, and are made of the same bytes again", async () => {
    const again = await newFolder();
    await packTools(
      again,
      (program: string, ...args: string[]) => void execFileSync(program, args, { stdio: "ignore" }),
    );
    expect(readdirSync(BUILT).sort()).toEqual(FILES);
    for (const file of FILES) {
      expect((await stat(path.join(BUILT, file))).size).toBeLessThan(MAX_BYTES);
      expect((await readFile(path.join(again, file))).equals(await readFile(path.join(BUILT, file)))).toBe(true);
    }
  });

  test("have what publint and Are The Types Wrong look for, and a license", async () => {
    const checks = await newFolder();
    for (const name of ["package.json", "package-lock.json"])
      await cp(`dev/package-checks/${name}`, path.join(checks, name));
    execFileSync("npm", ["ci", "--ignore-scripts", "--no-audit"], { cwd: checks, stdio: "ignore" }); // with npm's settings
    for (const file of FILES) {
      const at = path.resolve(BUILT, file);
      expect(await run("node_modules/.bin/publint", ["run", at, "--strict"], { cwd: checks })).toMatchObject({
        code: 0,
        stdout: expect.stringContaining("All good!"),
      });
      expect(await run("node_modules/.bin/attw", [at, ...ATTW], { cwd: checks })).toMatchObject({ code: 0 });
      const { stdout } = await run("tar", ["xzOf", at, "package/package.json"], { cwd: checks });
      const { license, homepage, repository } = packageManifest;
      const manifest = JSON.parse(stdout);
      expect(manifest).toMatchObject({ version, license, homepage, repository, sideEffects: [expect.any(String)] });
      expect(Object.keys(manifest).filter((name) => /dependencies|scripts|private/i.test(name))).toEqual([]);
      expect((await run("tar", ["xzOf", at, "package/LICENSE"], { cwd: checks })).stdout).toBe(
        await readFile("LICENSE", "utf8"),
      );
    }
  });

  test("of the client has types that hold with Node's alone, checked themselves, and runs", async () => {
    const cwd = await install("client.tgz");
    const lock = JSON.parse(await readFile(path.join(cwd, "package-lock.json"), "utf8"));
    expect(lock.packages["node_modules/@homeport/client"].integrity).toMatch(/^sha512-/);
    const entries = ["", "/node", "/service-worker"];
    const imports = entries.map((entry, i) => `import * as part${i} from "@homeport/client${entry}";\n`).join("");
    await writeFile(
      path.join(cwd, "app.mts"),
      `${imports}const parts: object[] = [${entries.map((_, i) => `part${i}`)}];\nconsole.log(parts.length);\n`,
    );
    const compilerOptions = {
      target: "ES2022",
      lib: ["ES2022"],
      module: "nodenext",
      types: ["node"],
      typeRoots: [path.resolve("node_modules/@types")],
      strict: true,
      skipLibCheck: false,
    };
    await writeFile(path.join(cwd, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["app.mts"] }));
    const compiled = await run(path.resolve("node_modules/.bin/tsc"), ["-p", "."], { cwd });
    expect(compiled).toEqual({ code: 0, stdout: "", stderr: "" });
    expect(await run("node", ["app.mjs"], { cwd })).toMatchObject({ code: 0, stdout: "3\n" });
  });
});
