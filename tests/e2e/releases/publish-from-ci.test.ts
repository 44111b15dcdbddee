import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { CiIssuer } from "@/tests/support/auth/ci-issuer";
import { runCommand } from "@/tests/support/process/command";
import { newDataDir, type Service, startService } from "@/tests/support/process/service";
import { toolOutput, writeElectronUpdate } from "@/tests/support/releases/tools/output";

let service: Service;
/** As users and ID tokens name the service. */
let url: string;

beforeAll(async () => {
  service = await startService();
  url = service.url.replace("127.0.0.1", "localhost");
});
afterAll(() => service.end("SIGKILL"));

/** The guide's n-th block of a language below the heading on CI. */
function block(language: string, n: number): string {
  const guide = readFileSync("docs/guides/publishing.md", "utf8");
  const section = guide.slice(guide.indexOf("\n## Publish from CI without a secret\n"));
  const [, text = ""] = [...section.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "gm"))][n] ?? [];
  return text;
}

/** The arguments of a line that runs `homeport`, without quotes. */
const argumentsOf = (line: string) =>
  line
    .replace(/^.*?homeport(\.tgz)? /, "")
    .replaceAll("'", "")
    .trim()
    .split(/ +/);

/** A CI service whose jobs are those of the guide's publisher, and a job with a built folder. */
async function newJob(type: "github" | "gitlab", version: string) {
  const issuer = await CiIssuer.start(type);
  onTestFinished(() => issuer.close());
  const folder = await newDataDir();
  const dist = toolOutput(path.join(folder, "dist"));
  await writeElectronUpdate(dist, "latest.yml", version, [`Example Setup ${version}.exe`]);
  const own = { INIT_CWD: folder, XDG_CACHE_HOME: path.join(folder, "cache"), HOMEPORT_URL: url };
  const setup = () => readFile(path.join(dist.folder, `Example Setup ${version}.exe`));
  return { issuer, own, setup };
}

/** Runs a command of the guide on the service's machine, for the issuer of a test. */
async function runOnService(line: string, issuer: CiIssuer) {
  const args = [...argumentsOf(line), "--issuer", issuer.origin];
  const { code, output } = await runCommand("homeport", args, { DATA_DIR: service.dataDir });
  expect([code, output]).toEqual([0, expect.stringContaining("acme/")]);
}

async function served(version: string): Promise<Buffer | number> {
  const response = await service.fetch(`/api/download/windows?version=${version}`);
  return response.ok ? Buffer.from(await response.arrayBuffer()) : response.status;
}

test("the guide's workflow publishes in GitHub Actions without a key, and no other job does", async () => {
  const { issuer, own, setup } = await newJob("github", "1.2.0");
  await runOnService(block("sh", 0), issuer);
  const { publish } = parse(block("yaml", 0)).jobs;
  expect(publish.env).toEqual({ HOMEPORT_URL: "https://updates.example.com" });
  const args = [...argumentsOf(publish.steps.at(-1).run), "--json"];
  const env = { ...own, ...issuer.actionsVariables };

  const { claims } = issuer;
  issuer.claims = { ...claims, repository: "evil/app" };
  const refused = await runCommand("homeport", args, env);
  expect([refused.code, JSON.parse(refused.stdout).error.code]).toEqual([1, "invalid_id_token"]);
  const [, refusal = ""] = /can look up why: ([\w-]+)/.exec(refused.stderr) ?? [];
  const audit = ["audit", "list", "--target", `refusal:${refusal}`, "--json"];
  const { stdout } = await runCommand("homeport", audit, { DATA_DIR: service.dataDir });
  expect(JSON.parse(stdout)).toMatchObject([
    { details: { claim: "repository", expected: "acme/app", actual: "evil/app" } },
  ]);
  expect(await served("1.2.0")).toBe(404);

  issuer.claims = claims;
  const published = await runCommand("homeport", args, env);
  expect(published).toMatchObject({
    code: 0,
    stderr: expect.stringContaining("the publisher acme/app (refs/tags/v1.2.0, "),
  });
  expect(JSON.parse(published.stdout).releases).toEqual([{ id: "core-windows-x64-1.2.0", outcome: "added" }]);
  expect(await served("1.2.0")).toEqual(await setup());
  const key = await runCommand("homeport", args, { ...env, HOMEPORT_API_KEY: `hp_${"0".repeat(49)}` });
  expect([key.code, JSON.parse(key.stdout).error.code]).toEqual([1, "unauthenticated"]);
  const beyond = await runCommand("homeport", ["keys", "list", "--json"], env);
  expect([beyond.code, JSON.parse(beyond.stdout).error.code]).toEqual([1, "forbidden"]);
});

test("all commands of a GitLab job publish with its one ID token, which nobody else can use again", async () => {
  const { issuer, own, setup } = await newJob("gitlab", "1.3.0");
  const [, line = ""] =
    /with `(homeport publishers add gitlab [^`]+)`/.exec(readFileSync("docs/guides/publishing.md", "utf8")) ?? [];
  await runOnService(line.replace("acme/app", "acme/apps/app"), issuer);
  const { publish } = parse(block("yaml", 1));
  expect(publish.id_tokens.HOMEPORT_ID_TOKEN.aud).toBe(publish.variables.HOMEPORT_URL);
  const args = argumentsOf(publish.script.at(-1));
  const env = { ...own, HOMEPORT_ID_TOKEN: issuer.token(url) };
  expect(await runCommand("homeport", args, env)).toMatchObject({ code: 0, stdout: expect.stringContaining("1.3.0") });
  expect(await runCommand("homeport", ["release", "rollout", "1.3.0", "50", "--product", "core"], env)).toMatchObject({
    code: 0,
  });
  expect(await served("1.3.0")).toEqual(await setup());
  const elsewhere = { ...env, XDG_CACHE_HOME: await newDataDir() };
  const replayed = await runCommand("homeport", ["release", "list", "--json"], elsewhere);
  expect([replayed.code, JSON.parse(replayed.stdout).error.code]).toEqual([1, "invalid_id_token"]);
});
