import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import packageManifest from "@/package.json" with { type: "json" };
import { newFolder } from "@/tests/support/guide";
import { read } from "@/tests/support/sources";

const run = promisify(execFile);

type Step = { uses?: string; run?: string };
type Job = { "timeout-minutes"?: number; needs?: string; steps: Step[] };
type Workflow = { permissions: Record<string, string>; jobs: Record<string, Job> };

const WORKFLOWS = (await readdir(".github/workflows")).map((file) => {
  const text = read(`.github/workflows/${file}`);
  return { file, text, workflow: parse(text) as Workflow };
});

describe.each(WORKFLOWS)("$file", ({ text, workflow }) => {
  const jobs = Object.values(workflow.jobs);
  const commands = jobs.flatMap(({ steps }) => steps.flatMap((step) => step.run ?? []));

  test("reads the repository by default, and no job runs without end", () => {
    expect(workflow.permissions).toEqual({ contents: "read" });
    expect(jobs.filter((job) => job["timeout-minutes"] === undefined)).toEqual([]);
  });

  test("uses actions by commit, not by a tag that can move", () => {
    const used = [...text.matchAll(/^ +(?:- )?uses: (.*)$/gm)].map(([, action]) => action);
    expect(used.length).toBeGreaterThan(1);
    for (const action of used) expect(action).toMatch(/^[\w-]+\/[\w-]+@[\da-f]{40} # v\d+\.\d+\.\d+$/);
  });

  test("names no registry: npm has its own, and the owner enters that of the image", () => {
    expect(text).not.toMatch(/ghcr\.io|npmjs\.org/);
  });

  test("runs scripts that exist, and puts nothing that others write into a shell", () => {
    const npmScripts = commands.flatMap((one) => /^npm run ([\w:-]+)/.exec(one)?.[1] ?? []);
    expect(npmScripts.filter((name) => !(name in packageManifest.scripts))).toEqual([]);
    for (const command of commands) {
      for (const [file] of command.matchAll(/(?:scripts|\.ci)\/[\w./-]+/g)) expect(read(file)).not.toBe("");
      expect(command).not.toContain("${{");
    }
  });
});

test("the workflows for users name the versions of actions that the project's own have", async () => {
  const own = WORKFLOWS.flatMap(({ text }) =>
    [...text.matchAll(/(actions\/[\w-]+)@\S+ # (v\d+)/g)].map(([, action, version]) => `${action}@${version}`),
  );
  const { stdout } = await run("git", ["grep", "-hoE", "actions/[a-z-]+@v[0-9]+", "--", "app", "docs"]);
  const named = stdout.trim().split("\n");
  const isOwn = (action: string) => own.some((one) => one.startsWith(action.replace(/\d+$/, "")));
  expect(named.filter(isOwn)).not.toEqual([]);
  expect(named.filter((action) => isOwn(action) && !own.includes(action))).toEqual([]);
});

/** A project with all that `npm version` writes to. */
async function newProject(): Promise<string> {
  const folder = await newFolder();
  const script = path.resolve("scripts/release.mjs");
  const scripts = { version: `node ${script} version`, openapi: "node -e 0" };
  const files = {
    "package.json": JSON.stringify({
      name: "homeport",
      version: "1.4.0",
      repository: { url: "git+https://example.com/app.git" },
      scripts,
    }),
    "clients/js/package.json": JSON.stringify({ name: "@homeport/client", version: "1.4.0" }),
    "docs/deploy.md": "cd /srv/homeport/1.4.0\ncd /srv/homeport/1.5.0\nhomeport-core-1.4.0.exe and Tus 1.0.0\n",
    "deploy/kubernetes/homeport.yaml": "image: registry.example.com/homeport:1.4.0\n",
    "README.md": "npx https://example.com/install/homeport-1.4.0.tgz\n",
    "CHANGELOG.md":
      "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- [A](docs/a.md).\n\n## [1.4.0] - 2026-11-29\n\n- B.\n",
  };
  for (const [name, text] of Object.entries(files)) {
    await mkdir(path.join(folder, path.dirname(name)), { recursive: true });
    await writeFile(path.join(folder, name), text);
  }
  await run("git", ["init", "--quiet"], { cwd: folder });
  await run("git", ["add", "."], { cwd: folder });
  return folder;
}

test("npm version writes the version wherever it is named, and the changes that the release shows", async () => {
  const cwd = await newProject();
  const release = (...args: string[]) => run(process.execPath, [path.resolve("scripts/release.mjs"), ...args], { cwd });
  await run("npm", ["version", "1.5.0", "--no-git-tag-version"], { cwd });
  const textOf = (name: string) => readFile(path.join(cwd, name), "utf8");
  expect(await textOf("docs/deploy.md")).toBe(
    "cd /srv/homeport/1.5.0\ncd /srv/homeport/1.6.0\nhomeport-core-1.4.0.exe and Tus 1.0.0\n",
  );
  expect(await textOf("deploy/kubernetes/homeport.yaml")).toContain("homeport:1.5.0");
  expect(await textOf("README.md")).toContain("homeport-1.5.0.tgz");
  expect(JSON.parse(await textOf("clients/js/package.json"))).toMatchObject({ version: "1.5.0" });
  expect(await textOf("CHANGELOG.md")).toMatch(/## \[Unreleased\]\n\n## \[1\.5\.0\] - \d{4}-\d\d-\d\d\n\n### Added\n/);
  await release("check", "v1.5.0");
  await expect(release("check", "v1.4.0")).rejects.toThrow("The tag v1.4.0 is not of version 1.5.0");
  expect((await release("notes")).stdout).toBe("### Added\n\n- [A](https://example.com/app/blob/v1.5.0/docs/a.md).\n");
  await run("npm", ["version", "1.6.0", "--no-git-tag-version"], { cwd });
  await expect(release("check", "v1.6.0")).rejects.toThrow("CHANGELOG.md has no date or no changes of 1.6.0");
});

test("the guides and the files for deployments name this version, and the next one where they upgrade", async () => {
  const { stdout } = await run("git", ["ls-files", "README.md", "clients", "deploy", "docs", "examples"]);
  const files = stdout.split("\n").filter((file) => /\.(md|ya?ml)$/.test(file));
  const found = files.flatMap((file) =>
    [...read(file).matchAll(/\b(?:homeport|client)[:/_-]v?(\d+\.\d+\.\d+)/g)].map(([, version = ""]) => version),
  );
  const next = packageManifest.version.replace(/(\d+)\.\d+$/, (_, minor) => `${Number(minor) + 1}.0`);
  expect([...new Set(found)].sort()).toEqual([packageManifest.version, next]);
});
