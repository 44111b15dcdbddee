import { createHmac, generateKeyPairSync, randomUUID, sign } from "node:crypto";
import { pino } from "pino";
import { afterAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { CiIssuer } from "@/tests/support/auth/ci-issuer";
import { exchangeJobToken, newPublisher } from "@/tests/support/auth/publishers";
import { BASE_URL, clock, ctx, setUpContext } from "@/tests/support/context";

const github = await CiIssuer.start("github", clock.now);
const gitlab = await CiIssuer.start("gitlab", clock.now);
afterAll(() => {
  github.close();
  gitlab.close();
});

const logged: Record<string, unknown>[] = [];
setUpContext({ log: pino({ level: "warn" }, { write: (line: string) => void logged.push(JSON.parse(line)) }) });

beforeEach(async () => {
  await ctx().db.publisher.deleteMany();
  await ctx().db.rateLimitCounter.deleteMany();
});

/** The claim that differs, as operators see it: those of the issuer in the audit trail, others in the log. The caller sees an id. */
async function refusedClaim(idToken: string): Promise<string> {
  const response = await exchangeJobToken(idToken);
  const { error, error_description: said, error_uri } = (await response.json()) as Record<string, string>;
  expect([response.status, error]).toEqual([400, "invalid_request"]);
  expect(error_uri).toMatch(/#invalid_id_token$/);
  const [, id = ""] =
    /^The ID token was not accepted\. The service's operators can look up why: ([0-9a-f-]{36})\.$/.exec(said ?? "") ??
    [];
  const { claim } = logged.find(({ refusalId }) => refusalId === id) as { claim: string };
  const event = await ctx().db.auditEvent.findFirst({ where: { type: "publisher_refused", target: `refusal:${id}` } });
  expect(event?.details ?? null).toEqual(
    ["signature", "iss"].includes(claim) ? null : expect.objectContaining({ claim }),
  );
  return claim;
}

const foreign = generateKeyPairSync("rsa", { modulusLength: 2048 });
const byForeignKey = (text: string) => sign("sha256", Buffer.from(text), foreign.privateKey);
const jwk = foreign.publicKey.export({ format: "jwk" });
const HOUR = 3600;

describe("an ID token is refused", () => {
  test.each<[string, Parameters<CiIssuer["token"]>[2]]>([
    ["with the algorithm none", { header: { alg: "none" }, sign: () => Buffer.alloc(0) }],
    ["with the algorithm nOnE", { header: { alg: "nOnE" }, sign: () => Buffer.alloc(0) }],
    ["without a signature", { sign: () => Buffer.alloc(0) }],
    [
      "with HS256 and the public key as the secret",
      { header: { alg: "HS256" }, sign: (text) => createHmac("sha256", github.publicKeyPem).update(text).digest() },
    ],
    ["of another key under a published kid", { sign: byForeignKey }],
    ["of another key that its header has", { header: { kid: "mine", jwk }, sign: byForeignKey }],
    [
      "of another key that its jku names",
      { header: { kid: "mine", jku: "https://evil.example/keys" }, sign: byForeignKey },
    ],
    ["with a kid that is a path", { header: { kid: "../../../../dev/null" }, sign: byForeignKey }],
    ["with a kid that is no text", { header: { kid: { $ne: null } }, sign: byForeignKey }],
    ["with a critical header that is unknown", { header: { crit: ["exp"], exp: 1 } }],
  ])("%s", async (_, signing) => {
    await newPublisher(github);
    expect(await refusedClaim(github.token(BASE_URL, {}, signing))).toBe("signature");
  });

  test.each<[string, Record<string, unknown>, string]>([
    ["for another Homeport", { aud: "https://updates.example.com" }, "aud"],
    ["for two services", { aud: [BASE_URL, "https://updates.example.com"] }, "aud"],
    ["for nobody", { aud: undefined }, "aud"],
    ["of an issuer that no publisher has", { iss: "https://evil.example" }, "iss"],
    ["of an issuer with a slash more", { iss: `${github.origin}/` }, "iss"],
    ["of an issuer that is an object", { iss: { toString: 1, valueOf: 1 } }, "iss"],
    ["for an audience that is an object", { aud: { toString: 1, valueOf: 1 } }, "aud"],
    ["of a run that is an object", { run_id: { toString: 1, valueOf: 1 }, aud: "" }, "aud"],
    ["of no issuer", { iss: undefined }, "iss"],
    ["that is valid for 24 hours", { exp: 24 * HOUR }, "exp"],
    ["that expired 61 seconds ago", { iat: -361, nbf: -361, exp: -61 }, "exp"],
    ["that is not valid for another 62 seconds", { nbf: 62 }, "nbf"],
    ["that is issued in 62 seconds", { iat: 62 }, "iat"],
    ["that was issued hours ago", { iat: -2 * HOUR - 62 }, "iat"],
    ["without an expiry", { exp: undefined }, "exp"],
    ["without a time of issue", { iat: undefined }, "iat"],
    ["with an expiry that is text", { exp: "never" }, "exp"],
    ["without an id", { jti: undefined }, "jti"],
    ["with an id that is no text", { jti: { a: 1 } }, "jti"],
    [
      "of a fork",
      {
        repository: "mallory/app",
        repository_id: "99",
        job_workflow_ref: "mallory/app/.github/workflows/release.yml@refs/tags/v1.2.0",
      },
      "repository",
    ],
  ])("%s", async (_, change, claim) => {
    await newPublisher(github);
    const now = Math.floor(clock.now().getTime() / 1000);
    const times = ["iat", "nbf", "exp"].filter((name) => typeof change[name] === "number");
    const moved = Object.fromEntries(times.map((name) => [name, now + (change[name] as number)]));
    expect(await refusedClaim(github.token(BASE_URL, { ...change, ...moved }))).toBe(claim);
  });

  test("of a repository or an owner that took over the name of the first one", async () => {
    await newPublisher(github);
    expect((await exchangeJobToken(github.token(BASE_URL))).status).toBe(200);
    expect(await refusedClaim(github.token(BASE_URL, { repository_id: "99" }))).toBe("repository_id");
    expect(await refusedClaim(github.token(BASE_URL, { repository_owner_id: "99" }))).toBe("repository_owner_id");
    expect((await exchangeJobToken(github.token(BASE_URL))).status).toBe(200);
  });

  test("when it is used again, also with its id in a new token", async () => {
    await newPublisher(github);
    const jti = randomUUID();
    const token = github.token(BASE_URL, { jti });
    expect((await exchangeJobToken(token)).status).toBe(200);
    expect(await refusedClaim(token)).toBe("jti");
    expect(await refusedClaim(github.token(BASE_URL, { jti, run_id: "4712" }))).toBe("jti");
  });

  test.each([["text"], ["a.b.c"], ["e30.e30."], ["bnVsbA.bnVsbA.bnVsbA"], [`${"x".repeat(7_000)}.y.z`]])(
    "that is none: %.20s",
    async (text) => {
      await newPublisher(github);
      expect(await refusedClaim(text)).toBe("iss");
    },
  );
});

describe("an issuer", () => {
  /** Runs with an issuer of which the service has no keys yet. */
  async function withIssuer(run: (issuer: CiIssuer) => Promise<void>): Promise<void> {
    const issuer = await CiIssuer.start("github", clock.now);
    onTestFinished(() => issuer.close());
    await newPublisher(issuer);
    await run(issuer);
  }

  test.each<[string, Partial<CiIssuer>]>([
    ["is down", { mode: "down" }],
    ["does not respond", { mode: "silent" }],
    ["has 10 MB of keys", { keysBody: `{"keys":[${'"x",'.repeat(2_500_000)}"x"]}` }],
    ["has keys in 100,000 brackets", { keysBody: `{"keys":${"[".repeat(100_000)}${"]".repeat(100_000)}}` }],
    [
      "names another issuer",
      { metadata: { issuer: "https://evil.example", jwks_uri: `${github.origin}/.well-known/jwks` } },
    ],
    ["has its keys nowhere", { metadata: { issuer: github.origin } }],
  ])("that %s makes the exchange wait, and its token works later", async (_, fault) => {
    await withIssuer(async (issuer) => {
      Object.assign(issuer, fault);
      const token = issuer.token(BASE_URL);
      const responses = await Promise.all([exchangeJobToken(token), exchangeJobToken(token)]);
      for (const response of responses) {
        expect([response.status, response.headers.get("retry-after")]).toEqual([503, "10"]);
        expect(await response.json()).toMatchObject({ error: "temporarily_unavailable" });
      }
      expect(issuer.requests.length).toBeLessThanOrEqual(2);
      Object.assign(issuer, { mode: "up", keysBody: null, metadata: null });
      clock.advance(10_000);
      expect((await exchangeJobToken(token)).status).toBe(200);
    });
  });

  test("is asked for new keys once in ten seconds, however many keys are invented", async () => {
    await withIssuer(async (issuer) => {
      const invented = () => issuer.token(BASE_URL, {}, { header: { kid: randomUUID() }, sign: byForeignKey });
      expect((await exchangeJobToken(issuer.token(BASE_URL))).status).toBe(200);
      clock.advance(10_000);
      await Promise.all(Array.from({ length: 10 }, () => exchangeJobToken(invented())));
      expect(issuer.requests.length).toBe(4);
      issuer.rotateKey();
      clock.advance(10_000);
      expect((await exchangeJobToken(issuer.token(BASE_URL))).status).toBe(200);
      expect(issuer.requests.length).toBe(6);
    });
  });
});

test("one network may send 60 tokens that are refused in 15 minutes, and the log also has the others", async () => {
  const attempt = () => exchangeJobToken("invalid", {}, { ip: "10.78.0.2" });
  for (let i = 0; i < 60; i += 1) expect((await attempt()).status).toBe(400);
  expect((await attempt()).status).toBe(429);
  expect(logged.filter(({ refusalId, network }) => refusalId && network === "10.78.0.0/24")).toHaveLength(61);
});
