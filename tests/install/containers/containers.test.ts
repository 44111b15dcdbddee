import { randomUUID } from "node:crypto";
import { cp, readFile, writeFile } from "node:fs/promises";
import { Agent, request } from "node:http";
import { Agent as TlsAgent, request as tlsRequest } from "node:https";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { parseAllDocuments, stringify } from "yaml";
import { freePort } from "@/dev/free-port";
import { blocksOf } from "@/tests/support/process/machine";
import { hasCommands, requirement } from "@/tests/support/requirements";
import { type Engine, startEngine } from "./engine";

const MAX_MB = 350;
const MEMORY_MB = 256;
const SECRETS = { POSTGRES_PASSWORD: "long-and-random", NEXTAUTH_SECRET: "a-secret-for-tests-that-is-long-enough" };
const canRun =
  requirement("root on Linux", process.platform === "linux" && process.getuid?.() === 0) &&
  hasCommands("podman", "runc", "mmdebstrap", "iptables", "catatonit") &&
  requirement("Node.js 24, which deploy/Dockerfile names", process.versions.node.startsWith("24."));

/** The commands of a block of the guide. */
const commandsOf = (heading: string, n = 0) => (blocksOf(heading, "console")[n] ?? "").replace(/^\$ /gm, "");

describe.runIf(canRun)("the container image, built and run by the guide's commands", () => {
  let engine: Engine;
  let podman: Engine["podman"];
  let port: number;

  beforeAll(async () => {
    engine = await startEngine();
    podman = engine.podman;
    port = await freePort();
    const [build = "", start = "", command = ""] = commandsOf("Containers").trim().split("\n");
    await engine.shell(process.cwd(), build);
    const limits = `docker run --detach --memory=${MEMORY_MB}m --memory-swap=${MEMORY_MB}m --cap-drop=all`;
    await engine.shell(process.cwd(), start.replace("docker run", limits).replace(":3000:", `:${port}:`));
    await healthy("homeport");
    expect(await engine.shell(process.cwd(), command)).toContain("core");
  }, 900_000);
  afterAll(() => engine?.remove());

  const inspect = (name: string, field: string) => podman("inspect", `--format={{${field}}}`, name);
  const healthy = (name: string) =>
    vi.waitFor(() => podman("healthcheck", "run", name), { timeout: 60_000, interval: 500 });
  const url = () => `http://127.0.0.1:${port}`;
  const register = (email: string) =>
    fetch(`${url()}/api/auth/register`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ email, password: "a good long password" }),
    });

  test(`takes ${MAX_MB} MB over its base at most, without npm, compilers and files for development`, async () => {
    const sizes = ["homeport", "debian:trixie-slim"].map((image) =>
      podman("image", "inspect", "--format={{.Size}}", image),
    );
    const [size = 0, base = 0] = (await Promise.all(sizes)).map(Number);
    expect((size - base) / 1e6).toBeLessThan(MAX_MB);
    const names = "npm npx corepack yarn cc gcc g++ make python3 git tsc esbuild";
    const found = await podman(
      "exec",
      "homeport",
      "bash",
      "-c",
      `command -v ${names}; ls -d /app/tests /app/dev /app/bench 2>/dev/null; \
      ls -d /app/node_modules/{typescript,esbuild,prisma,vitest,@types,@biomejs} 2>/dev/null; find /app -name '*.map'; true`,
    );
    expect(found).toBe("");
  });

  test(`runs as its user in ${MEMORY_MB} MB, and can write to its volume and temporary folders alone`, async () => {
    expect(await podman("exec", "homeport", "id", "--user")).toBe("1000");
    const writable = "find / -xdev -writable -not -type l 2>/dev/null || true";
    const folders = await podman("exec", "homeport", "bash", "-c", writable);
    expect(folders.split("\n").sort()).toEqual(["/data", "/tmp", "/var/tmp"]); // the last one is Podman's
    const email = `${randomUUID()}@example.com`;
    expect((await register(email)).status).toBe(201);
    await podman("restart", "--time=45", "homeport");
    await healthy("homeport");
    expect(await podman("exec", "homeport", "homeport", "accounts", "list")).toContain(email);
    expect(await inspect("homeport", ".State.OOMKilled")).toBe("false");
  });

  test("SIGTERM under load breaks no response, and ends with 0", async () => {
    const ip = await inspect("homeport", ".NetworkSettings.IPAddress");
    const load = startLoad((agent) => ({ agent, host: ip, port: 3000 }), new Agent({ keepAlive: true, maxSockets: 8 }));
    await expect.poll(load.count).toBeGreaterThan(200);
    await podman("stop", "--time=45", "homeport");
    expect(await load.stop("ECONNREFUSED")).toEqual([]);
    expect(await inspect("homeport", ".State.ExitCode")).toBe("0");
    await podman("rm", "--volumes", "homeport");
  });

  describe("with Docker Compose", () => {
    let folder: string;
    let https: number;

    beforeAll(async () => {
      [folder, https] = [engine.file("deploy"), await freePort()];
      await cp("deploy", folder, { recursive: true });
      const settings = { DOMAIN: "localhost", ...SECRETS, RATE_LIMITS: "off", BCRYPT_COST: "10" };
      await writeFile(
        path.join(folder, ".env"),
        Object.entries(settings)
          .map((pair) => `${pair.join("=")}\n`)
          .join(""),
      );
      const override = `services:\n  proxy:\n    ports: !override ["127.0.0.1:${https}:443"]\n`;
      await writeFile(path.join(folder, "compose.override.yaml"), override);
      await engine.shell(engine.file(""), commandsOf("Docker Compose"));
    });

    test("replaces one instance after the other without a failed request", async () => {
      const agent = new TlsAgent({ keepAlive: true, maxSockets: 8, rejectUnauthorized: false });
      const load = startLoad((agent) => ({ agent, host: "127.0.0.1", port: https, servername: "localhost" }), agent);
      await expect.poll(load.count).toBeGreaterThan(50);
      const ids = () => Promise.all(["web-1", "web-2"].map((name) => inspect(`homeport-${name}-1`, ".Id")));
      const before = await ids();
      const upgrade = commandsOf("Docker Compose", 1).replace("--no-deps", "--no-deps --force-recreate");
      expect(await engine.shell(folder, upgrade)).toContain("No pending migrations.");
      for (const id of await ids()) expect(before).not.toContain(id);
      const seen = load.count();
      await expect.poll(load.count).toBeGreaterThan(seen + 50);
      expect(await load.stop()).toEqual([]);
    });

    test("runs the Pods of the Kubernetes manifests", async () => {
      const image = await manifestsFor(engine, folder);
      await podman("tag", "localhost/homeport", image);
      const database = (name: string) => `postgres://homeport:${SECRETS.POSTGRES_PASSWORD}@${name}/homeport`;
      const { NEXTAUTH_SECRET } = SECRETS;
      const secret = { DATABASE_URL: database("database"), NEXTAUTH_URL: "https://api.example.com", NEXTAUTH_SECRET };
      const encoded = Object.entries(secret).map(([name, value]) => [name, Buffer.from(value).toString("base64")]);
      await writeFile(engine.file("secret"), JSON.stringify(Object.fromEntries(encoded)));
      await podman("secret", "create", "homeport", engine.file("secret"));
      const play = (file: string) => podman("kube", "play", "--network=homeport_default", engine.file(file));
      await play("migrate.yaml");
      expect(await podman("wait", "homeport-migrate-migrate")).toBe("0");
      expect(await podman("logs", "homeport-migrate-migrate")).toContain("No pending migrations.");
      await play("homeport.yaml");
      const probe = "exec 3<>/dev/tcp/127.0.0.1/3000; printf 'GET /sign-in HTTP/1.0\\r\\n\\r\\n' >&3; head -1 <&3";
      const answer = () => podman("exec", "homeport-pod-0-homeport", "bash", "-c", probe).catch(String);
      await expect.poll(answer).toContain("200");
      await podman("kube", "down", engine.file("homeport.yaml"));
    });
  });
});

type Target = (agent: Agent) => object;

/** Clients that send requests of four kinds, one after the other. */
function startLoad(target: Target, agent: Agent | TlsAgent) {
  const failures: unknown[] = [];
  let [count, isOver] = [0, false];
  const kinds: [path: string, status: number, body?: string][] = [
    ["/api/version?platform=windows&product=none", 400],
    ["/sign-in", 200],
    ["/api/auth/login", 401, JSON.stringify({ email: "nobody@example.com", password: "whatever" })],
    ["/api/auth/session", 200],
  ];
  const ask = ([path, , body]: (typeof kinds)[number]) =>
    new Promise<number>((resolve, reject) => {
      const send = agent instanceof TlsAgent ? tlsRequest : request;
      const headers = { host: "localhost", ...(body && { "content-type": "application/json" }) };
      const options = { ...target(agent), path, method: body ? "POST" : "GET", headers };
      const sent = send(options, (answer) => {
        answer
          .on("error", reject)
          .on("end", () => resolve(answer.statusCode ?? 0))
          .resume();
      });
      sent.on("error", reject).end(body);
    });
  const clients = [...kinds, ...kinds].map(async (kind) => {
    while (!isOver) {
      const status = await ask(kind).catch((error: NodeJS.ErrnoException) => error.code ?? error.message);
      if (status === kind[1]) count += 1;
      else failures.push(status);
      if (status === "ECONNREFUSED") return;
      await delay(20);
    }
  });
  /** Resolves to the failures but one kind of them. */
  const stop = async (expected?: string) => {
    isOver = true;
    await Promise.all(clients);
    agent.destroy();
    return failures.filter((failure) => failure !== expected);
  };
  return { count: () => count, stop };
}

/** The manifests as Podman 4.3 can play them: it knows no Job, and gives every replica the same port. Returns their image. */
async function manifestsFor(engine: Engine, folder: string): Promise<string> {
  const documents = async (file: string) =>
    parseAllDocuments(await readFile(path.join(folder, "kubernetes", file), "utf8")).map((document) => document.toJS());
  const [job] = await documents("migrate.yaml");
  const pod = { apiVersion: "v1", kind: "Pod", metadata: job.metadata, spec: job.spec.template.spec };
  await writeFile(engine.file("migrate.yaml"), stringify(pod));
  const all = await documents("homeport.yaml");
  const deployment = all.find(({ kind }) => kind === "Deployment");
  deployment.spec.replicas = 1;
  await writeFile(engine.file("homeport.yaml"), all.map((document) => stringify(document)).join("---\n"));
  return deployment.spec.template.spec.containers[0].image;
}
