import { strict as assert } from "node:assert";
import { createHash, randomBytes, randomUUID } from "node:crypto";
import { type Config, loadConfig } from "../lib/platform/config";
import { readSecrets } from "../lib/platform/embedded-secrets";
import { readOperatorAccess } from "../lib/platform/files/operator-file";
import { baseUrlFrom, runCommandLine } from "../scripts/command-line";
import { createRequest, jsonBody, UnexpectedStatusError } from "./request";
import { initialPurchase, signatureHeader } from "./revenuecat";
import { moveCompany } from "./tour-move";

/** Reads at least this many bytes of a body and cancels the rest. */
async function readSome(response: Response, atLeast: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    chunks.push(chunk);
    size += chunk.byteLength;
    if (size >= atLeast) break;
  }
  return Buffer.concat(chunks);
}

const HELP = `Usage: npm run tour [-- BASE_URL]

Sends the requests of an uptime probe, desktop clients, a web app, an iOS app and the billing provider to a running service
(NEXTAUTH_URL unless BASE_URL is given). Prints each request with its response, and exits with 1 at the first unexpected
response. Signs its webhooks with the service's own secret: set BILLING_WEBHOOK_SIGNING_SECRET,
BILLING_WEBHOOK_AUTHORIZATION or DATA_DIR to the values of the service.`;

let config: Config;
let request: ReturnType<typeof createRequest>;

async function uptimeProbe(): Promise<void> {
  const health = await (await request(200, "GET", "/api/health")).json();
  assert.equal(health.status, "ok");
  const head = await request(200, "HEAD", "/api/health");
  assert.equal(await head.text(), "");
  await request(200, "GET", "/api/health?probe=live");
}

// biome-ignore lint/suspicious/noExplicitAny: the tour asserts what it reads.
type Json = any;

/** A release that the catalog offers to a client, and the selection that gets it. */
type Offer = { selection: string; current: string; check: Response; release: Json };

/** Asks for an update of the sample app, or, where releases of one's own have replaced the samples, of what there is. */
async function findOffer(platform: string, architecture: string): Promise<Offer | null> {
  const ask = async (product: string, own: string, current: string): Promise<Offer | null> => {
    const selection = `platform=${platform}&product=${product}&architecture=${own}`;
    const check = await request([200, 400, 404], "GET", `/api/version?${selection}&current=${current}`);
    const release = await check.json();
    return release.updateAvailable ? { selection, current, check, release } : null;
  };
  const sample = await ask("core", architecture, "1.0.0");
  if (sample) return sample;
  const { allowed } = await (await request(400, "GET", `/api/version?platform=${platform}`)).json();
  for (const product of allowed.product) {
    for (const own of [architecture, ...allowed.architecture.filter((name: string) => name !== architecture)]) {
      const offer = await ask(product, own, "0.0.1");
      if (offer) return offer;
    }
  }
  console.log("    the catalog has no update for it");
  return null;
}

/** Updates an app. Returns whether the catalog has an update for it. */
async function desktopClient(platform: string, architecture: string): Promise<boolean> {
  const offer = await findOffer(platform, architecture);
  if (!offer) return false;
  const { selection, current: installed, check, release } = offer;
  const unchanged = { headers: { "if-none-match": check.headers.get("etag") ?? "" } };
  await request(304, "GET", `/api/version?${selection}&current=${installed}`, unchanged);
  const current = await (await request(200, "GET", `/api/version?${selection}&current=v${release.version}`)).json();
  assert.equal(current.updateAvailable, false);
  await resumeDownload(release);
  return true;
}

/** Downloads a release's file in two parts. A file in a bucket is elsewhere: the service redirects to it. */
async function resumeDownload(release: Json): Promise<void> {
  const { artifact } = release;
  const { pathname, search } = new URL(artifact.url);
  const first = await request([200, 302, 307], "GET", pathname + search);
  if (first.status !== 200) return console.log("    the file is in a bucket or a CDN");
  const read = await readSome(first, Math.floor(artifact.sizeBytes / 3));
  const partial = read.subarray(0, artifact.sizeBytes - 1); // a small file arrives whole
  console.log(`    aborted after ${partial.byteLength} of ${artifact.sizeBytes} bytes`);
  const range = { range: `bytes=${partial.byteLength}-`, "if-range": first.headers.get("etag") ?? "" };
  const rest = await request(206, "GET", pathname + search, { headers: range });
  const file = Buffer.concat([partial, new Uint8Array(await rest.arrayBuffer())]);
  assert.equal(file.byteLength, artifact.sizeBytes);
  assert.equal(createHash("sha256").update(file).digest("hex"), artifact.sha256);
  console.log(`    ${artifact.fileName} ${release.version}: resumed, SHA-256 matches`);
}

type Person = { id: string; email: string; password: string };

/** The account that the tour has registered and has not deleted yet. */
let registeredPerson: Person | undefined;

async function webApp(): Promise<Person> {
  const email = `tour-${randomUUID()}@example.com`;
  const password = randomBytes(12).toString("base64url");
  const sameOriginHeaders = { origin: new URL(config.baseUrl).origin, "sec-fetch-site": "same-origin" };
  const registration = await request(
    201,
    "POST",
    "/api/auth/register",
    jsonBody({ email, password, name: "Tour" }, sameOriginHeaders),
  );
  const { user, token } = await registration.json();
  const person = { id: user.id, email, password };
  registeredPerson = person;
  assert.equal(token, undefined, "a browser gets its token only as a cookie");

  const cookies = new Map<string, string>();
  const storeCookies = ({ headers }: Response) => {
    for (const line of headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
  };
  const cookie = () => [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  const csrf = await request(200, "GET", "/api/auth/csrf");
  storeCookies(csrf);
  const { csrfToken } = await csrf.json();
  const form = (fields: Record<string, string>): RequestInit => ({
    body: new URLSearchParams({ ...fields, csrfToken, json: "true" }),
    headers: { ...sameOriginHeaders, cookie: cookie() },
  });
  storeCookies(await request(200, "POST", "/api/auth/callback/credentials", form({ email, password })));
  const session = await (await request(200, "GET", "/api/auth/session", { headers: { cookie: cookie() } })).json();
  assert.equal(session.user.email, email);
  storeCookies(await request(200, "POST", "/api/auth/signout", form({})));
  const after = await (await request(200, "GET", "/api/auth/session", { headers: { cookie: cookie() } })).json();
  assert.deepEqual(after, {});
  return person;
}

async function iosApp({ email, password }: Person): Promise<string> {
  const login = await (
    await request(200, "POST", "/api/auth/login", jsonBody({ email, password, deviceName: "Tour" }))
  ).json();
  const headers = { authorization: `Bearer ${login.token}` };
  const registrationBody = {
    token: randomBytes(32).toString("hex"),
    device: { name: "Tour's iPhone", model: "iPhone18,1" },
  };
  const registration = await request([202, 503], "POST", "/api/push/register", jsonBody(registrationBody, headers));
  const { code, device } = await registration.json();
  if (registration.status === 503) {
    assert.equal(code, "push_not_configured");
    console.log("    push is not configured on this service");
    return login.token;
  }
  assert.equal(device.status, "pending");
  const { devices } = await (await request(200, "GET", "/api/push/devices", { headers })).json();
  assert.deepEqual(
    devices.map((one: { id: string; current: boolean }) => [one.id, one.current]),
    [[device.id, true]],
  );
  await request(204, "DELETE", `/api/push/devices/${device.id}`, { headers });
  assert.deepEqual((await (await request(200, "GET", "/api/push/devices", { headers })).json()).devices, []);
  return login.token;
}

const SET_SECRET =
  "set BILLING_WEBHOOK_SIGNING_SECRET, BILLING_WEBHOOK_AUTHORIZATION or DATA_DIR here as they are set for the service";

async function billingProvider({ id }: Person, token: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}` };
  const status = async () => {
    const { checkedAt, ...rest } = await (await request(200, "GET", "/api/subscription/status", { headers })).json();
    return rest;
  };
  assert.equal((await status()).status, "none");
  if (!(await signingSecret()) && config.BILLING_WEBHOOK_AUTHORIZATION.length === 0) {
    throw new Error(`the webhook's secret is not set for this command: ${SET_SECRET}`);
  }
  const event = { api_version: "1.0", event: initialPurchase(id) };
  await request(401, "POST", "/api/subscription/billing-provider-webhook", await delivery(event, "a wrong secret"));
  await request(200, "POST", "/api/subscription/billing-provider-webhook", await delivery(event)).catch(
    (error: unknown) => {
      const isRejected = error instanceof UnexpectedStatusError && error.status === 401;
      throw isRejected ? new Error(`the service has a different webhook secret: ${SET_SECRET}`) : error;
    },
  );
  const active = await status();
  assert.equal(active.status, "active");
  assert.equal(active.isActive, true);
  await request(200, "POST", "/api/subscription/billing-provider-webhook", await delivery(event));
  assert.deepEqual(await status(), active, "a repeated delivery must change nothing");
  await request(410, "POST", "/api/subscription/checkout");
}

/** A delivery signed as the provider signs it. */
async function delivery(event: unknown, secret?: string): Promise<RequestInit> {
  const body = JSON.stringify(event);
  const signing = secret ?? (await signingSecret());
  const authorization = secret ?? config.BILLING_WEBHOOK_AUTHORIZATION[0];
  return {
    body,
    headers: {
      "content-type": "application/json",
      ...(authorization ? { authorization } : {}),
      ...(signing ? signatureHeader(body, signing) : {}),
    },
  };
}

/** The configured secret, else the one that embedded mode generated. */
async function signingSecret(): Promise<string | undefined> {
  if (config.BILLING_WEBHOOK_SIGNING_SECRET) return config.BILLING_WEBHOOK_SIGNING_SECRET;
  if (config.mode === "server" || config.BILLING_WEBHOOK_AUTHORIZATION.length > 0) return undefined;
  return (await readSecrets(config.DATA_DIR))?.billingWebhookSigningSecret;
}

async function step<T>(title: string, run: () => Promise<T>): Promise<T> {
  console.log(`\n${title}`);
  return run();
}

/** Deletes the tour's account. `token` is a session of its owner. */
async function deleteAccount({ password }: Person, token: string): Promise<void> {
  const body = { confirm: "DELETE", password };
  await request(200, "POST", "/api/auth/account/delete", jsonBody(body, { authorization: `Bearer ${token}` }));
  registeredPerson = undefined;
}

/** Deletes the account after a failed tour. Prints its email if that fails too. */
async function cleanUp(): Promise<void> {
  if (!registeredPerson) return;
  const { email, password } = registeredPerson;
  try {
    console.log("\nDeleting the tour's account");
    const { token } = await (await request(200, "POST", "/api/auth/login", jsonBody({ email, password }))).json();
    await deleteAccount(registeredPerson, token);
  } catch (error) {
    console.error(`The account ${email} could not be deleted: ${(error as Error).message}`);
  }
}

/** Whether `homeport` operates the service of the tour. */
function isOperated(base: string): boolean {
  const { HOMEPORT_URL: url } = process.env;
  if (url) return new URL(url).host === new URL(base).host;
  const isLocal = ["localhost", "127.0.0.1", "[::1]"].includes(new URL(base).hostname);
  return isLocal && config.mode === "embedded" && readOperatorAccess(config.DATA_DIR) !== null;
}

async function skipMove(): Promise<void> {
  console.log("  skipped: set HOMEPORT_URL and HOMEPORT_API_KEY, or DATA_DIR to that of the service on this machine");
}

async function main(args: string[]): Promise<void> {
  config = loadConfig();
  const base = baseUrlFrom(args, config.baseUrl);
  request = createRequest(base);
  console.log(`A tour of ${base}`);
  try {
    await step("1. An uptime probe", uptimeProbe);
    const onMacos = await step("2. A desktop client on macOS, arm64", () => desktopClient("macos", "arm64"));
    const onWindows = await step("   and one on Windows, x64", () => desktopClient("windows", "x64"));
    if (!onMacos && !onWindows) await step("   and one on Linux, x64", () => desktopClient("linux", "x64"));
    const person = await step("3. The web app: sign up, sign in, sign out", webApp);
    const token = await step("4. The iOS app", () => iosApp(person));
    await step("5. The billing provider", () => billingProvider(person, token));
    await step("6. The account's deletion", () => deleteAccount(person, token));
    await step("7. A small company moves in", () => (isOperated(base) ? moveCompany(request) : skipMove()));
    console.log("\nAll responses are as expected.");
  } catch (error) {
    throw new Error(`\nThe tour failed: ${error instanceof Error ? error.message : error}`);
  } finally {
    await cleanUp();
  }
}

await runCommandLine(HELP, main);
