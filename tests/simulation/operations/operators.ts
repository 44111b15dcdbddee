import type { Account } from "../model/accounts";
import { Grant } from "../model/billing";
import { Violation } from "../model/fact";
import { ApiKey } from "../model/operators";
import type { Sent } from "../world";
import { isIdentified, type Operation, onAccount, type Step } from "./operation";

const DAY_MS = 86_400_000;

/** What an event of the audit trail is about, as its list is asked for it: `account=ID` or `target=TEXT`. */
type Subject = string;

/** An operator's change: it is applied with its event in the audit trail, or not at all. */
export async function change(
  step: Step,
  [type, subject]: [type: string, subject: Subject],
  label: string,
  [method, path, sent = {}]: [method: string, path: string, sent?: Sent],
  changes: (body: Record<string, unknown>) => boolean = ({ isChanged }) => isChanged !== false,
  audit = step.model.willAudit(type, subject),
) {
  const answer = await step.send(label, method, path, { ...sent, operator: "sim" });
  if (answer.outcome === "done" && changes(answer.body || {})) audit.done();
  else if (answer.outcome !== "unknown") audit.refused();
  await seeAudit(step, type, subject);
  return answer;
}

/** The event of a change is there with its answer. No other change of the subject is under way. */
export async function seeAudit(step: Step, type: string, subject: Subject): Promise<void> {
  const target = `/api/admin/audit?limit=100&actor=operator:sim&type=${type}&${subject}`;
  const answer = await step.send(`see the audit trail: ${type}`, "GET", target, { operator: "sim" });
  if (answer.outcome === "done" && answer.body.nextCursor === null)
    step.model.sawAudit(`${type} ${subject}`, answer.body.events.length);
}

function onAccountAsOperator(
  name: string,
  weight: number,
  type: string,
  request: (account: Account, step: Step) => [method: string, path: string, sent?: Sent],
  effect: {
    /** Whether the account is as the change makes it: nothing changes then. */
    isSame?: (account: Account) => boolean;
    mayDo?: (account: Account) => void;
    done: (account: Account, body: { isChanged?: boolean }) => void;
  },
  changes?: (body: Record<string, unknown>) => boolean,
): Operation {
  return onAccount(name, weight, isIdentified, async (step, account) => {
    const isSame = effect.isSame?.(account);
    effect.mayDo?.(account);
    const subject = `account=${account.id}`;
    if (type !== "signed_out") step.model.willAudit("signed_out", subject); // of its sessions, if there are any
    const answer = await change(step, [type, subject], `${name} ${account.name}`, request(account, step), changes);
    if (answer.outcome === "done" && isSame && answer.body.isChanged)
      throw new Violation("change without an effect", `${name} ${account.name}`);
    if (answer.outcome === "done") {
      account.exists.set(true);
      effect.done(account, answer.body || {});
    } else if (answer.outcome === "refused" && answer.body?.code === "not_found") {
      if (account.exists.is(true)) throw new Violation("account is lost", account.name);
      account.remove();
    }
  });
}

function newGrant({ model, random }: Step, { id: accountId }: Account) {
  const json = { accountId, entitlementId: "pro", days: random.pick([1, 30]), reason: `Ticket ${random.below(1e6)}` };
  const headers = { "idempotency-key": random.uuid() };
  const audit = model.willAudit("entitlement_granted", `account=${accountId}`);
  let isRecorded = false;
  // The process may end after an answer, before the grant is noted: it is then sent again.
  const done = () => {
    if (!isRecorded) audit.done();
    isRecorded = true;
  };
  return { sent: { json, headers }, audit: { ...audit, done } };
}

const path = (account: Account, rest = "") => `/api/admin/accounts/${account.id}${rest}`;

export const operatorOperations: Operation[] = [
  { name: "checkpoint", weight: 0.3, start: ({ world }) => world.checkpoint() },
  onAccountAsOperator(
    "disable",
    0.7,
    "account_disabled",
    (account) => ["POST", path(account, "/disable"), { json: {} }],
    {
      isSame: (account) => account.isDisabled.is(true),
      mayDo: (account) => {
        account.isDisabled.maySet(true);
        account.mayEndAccess();
      },
      done: (account, { isChanged }) => {
        account.isDisabled.set(true);
        // One that was disabled before may have been told of a reset since: the email's link goes on to work.
        account.endAccess(({ kind }) => isChanged === true || kind !== "not-me link");
      },
    },
  ),
  onAccountAsOperator("enable", 1, "account_enabled", (account) => ["POST", path(account, "/enable"), { json: {} }], {
    isSame: (account) => account.isDisabled.is(false),
    mayDo: (account) => account.isDisabled.maySet(false),
    done: (account) => account.isDisabled.set(false),
  }),
  onAccountAsOperator(
    "end all sessions of",
    1,
    "signed_out",
    (account) => ["POST", path(account, "/revoke-sessions"), { json: {} }],
    { mayDo: (account) => account.mayEndAccess(), done: (account) => account.endAccess() },
    ({ sessionsEnded, devicesRemoved }) => Number(sessionsEnded) + Number(devicesRemoved) > 0,
  ),
  onAccountAsOperator(
    "delete as an operator",
    0.3,
    "account_deleted",
    (account) => ["DELETE", path(account)],
    {
      mayDo: (account) => {
        account.exists.maySet(false);
        account.mayEndAccess();
      },
      done: (account) => account.remove(),
    },
    () => true,
  ),
  onAccount("grant an entitlement", 1.2, isIdentified, async (step, account) => {
    const { random } = step;
    const event: [string, Subject] = ["entitlement_granted", `account=${account.id}`];
    const unanswered = random.chance(0.5) ? random.pick(account.unansweredGrants) : undefined;
    const grant = unanswered ?? newGrant(step, account);
    const { sent, audit } = grant;
    if (!unanswered) account.unansweredGrants.push(grant);
    const label = `grant an entitlement to ${account.name}`;
    const request: [string, string, Sent] = ["POST", "/api/admin/billing/grants", sent];
    // That nothing has changed says that an earlier request has.
    const once = unanswered ? { ...audit, refused: () => {} } : audit;
    const answer = await change(step, event, label, request, () => true, once);
    if (answer.outcome === "unknown" || (unanswered && answer.outcome === "refused")) return;
    account.unansweredGrants.splice(account.unansweredGrants.indexOf(grant), 1);
    if (answer.outcome !== "done") return;
    const endsAtMs = unanswered ? Date.parse(answer.body.grant.endsAt) : step.nowMs + sent.json.days * DAY_MS;
    account.grants.push(new Grant(answer.body.grant.id, account, endsAtMs));
  }),
  onAccount(
    "end a grant",
    1,
    ({ grants }) => grants.length > 0,
    async (step, account) => {
      const grant = step.random.pick(account.grants);
      const hasEnded = grant.works.is(false) || grant.endsAtMs < step.nowMs - 60_000;
      grant.mayEnd();
      const request: [string, string] = ["DELETE", `/api/admin/billing/grants/${grant.id}?reason=over`];
      const event: [string, Subject] = ["grant_ended", `account=${account.id}`];
      const answer = await change(step, event, `end a grant of ${account.name}`, request);
      if (answer.outcome === "done" && hasEnded && answer.body.isChanged)
        throw new Violation("change without an effect", `end a grant of ${account.name}`);
      if (answer.outcome === "done") grant.end();
    },
  ),
  {
    name: "create a key",
    weight: 1,
    start: async (step) => {
      const { model, random } = step;
      const scopes = random.pick([
        ["accounts:read", "audit:read"],
        ["releases:read"],
        ["releases:read", "releases:write"],
        ["webhooks:read"],
      ]);
      const isLimited = scopes.includes("releases:read") && random.chance(0.6);
      const products = isLimited ? [random.pick(model.catalog.products).name] : [];
      const expiresAtMs = random.chance(0.3) ? step.nowMs + 5 * 60_000 : Number.POSITIVE_INFINITY;
      const expiresAt = Number.isFinite(expiresAtMs) ? new Date(expiresAtMs).toISOString() : null;
      const json = { name: `Key ${model.keys.length}`, scopes, products, expiresAt };
      const audit = model.willAudit("key_created");
      const answer = await step.send("create a key", "POST", "/api/admin/keys", { operator: "sim", json });
      if (answer.outcome === "refused") audit.refused();
      if (answer.outcome !== "done") return;
      audit.done();
      const key = new ApiKey(answer.body.id, answer.body.key, scopes, products);
      key.expiresAtMs = expiresAtMs;
      model.keys.push(key);
    },
  },
  {
    name: "revoke a key",
    weight: 0.7,
    start: (step) => {
      const { model, random } = step;
      const key = random.pick(model.keys);
      if (!key || key.isBusy) return null;
      return (async () => {
        key.isBusy = true;
        const wasRevoked = key.works.is(false);
        key.mayEnd();
        const subject = `target=key:${key.id}`;
        const audit = model.willAudit("key_revoked", subject);
        const label = `revoke key ${model.keys.indexOf(key)}`;
        const answer = await step.send(label, "DELETE", `/api/admin/keys/${key.id}`, { operator: "sim" });
        if (answer.outcome === "done") {
          if (wasRevoked) audit.refused();
          else if (!key.isUnsure) audit.done();
          key.end();
          key.isUnsure = false;
        } else if (answer.outcome === "unknown") key.isUnsure = true;
        else audit.refused();
        await seeAudit(step, "key_revoked", subject);
        key.isBusy = false;
      })();
    },
  },
  {
    name: "use a key",
    weight: 2,
    start: (step) => {
      const key = step.random.pick(step.model.keys);
      if (!key || key.isBusy) return null;
      return seeKey(step, key);
    },
  },
];

/** What keys may do: a request for each scope. */
const REQUESTS: [scope: string, method: string, path: string][] = [
  ["accounts:read", "GET", "/api/admin/accounts?limit=1"],
  ["audit:read", "GET", "/api/admin/audit?limit=1"],
  ["releases:read", "GET", "/api/admin/releases?limit=100"],
  ["releases:write", "PATCH", "/api/admin/releases/none"],
  ["webhooks:read", "GET", "/api/admin/webhooks"],
];

export async function seeKey(step: Step, key: ApiKey): Promise<void> {
  key.isBusy = true;
  const [scope, method, path] = step.random.pick(
    REQUESTS.filter((one) => step.random.chance(0.3) || key.scopes.includes(one[0])),
  );
  const label = `use key ${step.model.keys.indexOf(key)}`;
  const sent = { token: key.key, ...(method === "PATCH" && { json: { yanked: true } }) };
  const sentAtMs = step.nowMs;
  const answer = await step.send(label, method, path, sent);
  if (answer.outcome !== "unknown") key.sawRequest(scope, answer.status, sentAtMs, step.nowMs);
  const products: string[] = (answer.body?.releases ?? []).map(({ product }: { product: string }) => product);
  if (key.products.length > 0 && products.some((product) => !key.products.includes(product)))
    throw new Violation("key sees another product", key.products.join());
  if (key.products.length > 0) await reachOtherProduct(step, key);
  key.isBusy = false;
}

/** A key of one product finds nothing of another one, and publishes nothing there. */
export async function reachOtherProduct(
  step: Step,
  { key: token, products }: Pick<ApiKey, "key" | "products">,
): Promise<void> {
  const { random, model } = step;
  const other = random.pick(model.catalog.products.filter(({ name }) => !products.includes(name)));
  const [release, rollout] = [random.pick(other.releases), random.pick(other.rollouts)];
  const base = "/api/admin/releases";
  const draft = { product: other.name, platform: "windows", architecture: "x64", version: "9.0.0" };
  const files = [{ uploadId: random.uuid(), kinds: ["installer"] }];
  const doors: [method: string, path: string, json?: object][] = [
    ["GET", `${base}/rollouts?limit=100`],
    ["GET", `${base}/policies`],
    ["POST", base, { releases: [{ release: draft, files }] }],
  ];
  if (release) doors.push(["GET", `${base}/${release.id}`], ["PATCH", `${base}/${release.id}`, { critical: false }]);
  if (rollout) doors.push(["GET", `${base}/rollouts/${rollout.id}`]);
  for (const [method, path, json] of random.shuffle(doors).slice(0, 3)) {
    const sent = { token, ...(json && { json }) };
    const { outcome, status, body } = await step.send(`reach ${other.name}`, method, path, sent);
    const listed: { product: string }[] = body?.rollouts ?? body?.policies ?? [];
    const isList = /(rollouts\?.*|policies)$/.test(path);
    const isReached = isList ? listed.some(({ product }) => product === other.name) : outcome === "done";
    if (isReached || (method === "POST" && outcome === "refused" && status !== 403 && status !== 401))
      throw new Violation("key reaches another product", `${method} ${path}: ${status} ${body?.code ?? ""}`);
  }
}
