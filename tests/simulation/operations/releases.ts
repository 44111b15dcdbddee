import { createHash } from "node:crypto";
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { disk } from "../disk";
import { type Fact, Violation } from "../model/fact";
import { type Product, Release, Rollout, type Upload } from "../model/releases";
import { checkMirror } from "./mirror";
import { newPassword, type Operation, type Step } from "./operation";
import { checkReports, checkUpdates, fileUrl, hashOf } from "./updates";
import { seeUpload, upload } from "./uploads";

/** When a rollout starts that is scheduled for later. */
const START_DELAY_MS = 300_000;
const ADMIN = "admin@example.com";
const PATH = "/api/admin/releases";

/** An admin makes the key that publishes, so that the operator at the machine can approve. */
export async function setUpReleases(step: Step): Promise<void> {
  const { model, random } = step;
  const json = { email: ADMIN, password: newPassword(random), transport: "token" };
  const { body } = await step.send("register the admin", "POST", "/api/auth/register", { json });
  const grant = { operator: "sim", json: { role: "admin" } };
  model.willAudit("role_changed").done();
  await step.send("make an admin", "POST", `/api/admin/accounts/${body.user.id}/grant`, grant);
  model.catalog.password = json.password;
  const key = { token: body.token, json: { name: "Publisher", scopes: ["releases:write"] } };
  model.catalog.key = (await step.send("create the publisher's key", "POST", "/api/admin/keys", key)).body.key;
  for (const product of model.catalog.products) await publish(step, product, "stable", 100);
  model.willAudit("release_policy_changed").done();
  for (const product of model.catalog.products.filter(({ needsApproval }) => needsApproval)) {
    const policy = { operator: "sim", json: { approvals: 1 } };
    await step.send("set a policy", "PATCH", `${PATH}/policies/${product.name}`, policy);
    for (const release of product.releases) release.isAdmitted.set(true);
  }
}

/** Waits until each process has read what is in the database: after a fault it tries again later. */
async function settle({ model, world }: Step): Promise<void> {
  for (const { catalog, policies, rollouts } of world.contexts)
    for (let isRead = false; !isRead; )
      isRead = await policies
        .refresh()
        .then(rollouts.refresh)
        .then(catalog.refresh)
        .then(
          () => true,
          () => false,
        );
  // Another one may start at any time.
  model.catalog.isFresh = model.followMs === 0;
}

// biome-ignore lint/suspicious/noExplicitAny: values of any fact
type Effect = [fact: Fact<any>, value: unknown];

/** A change of the catalog, with what it does if it is acknowledged. */
async function change(
  step: Step,
  label: string,
  [method, target, json]: [method: string, target: string, json?: unknown],
  effects: readonly Effect[],
  sent: { operator?: string; token?: string; headers?: Record<string, string> } = {},
) {
  const { catalog } = step.model;
  const before = effects.map(([fact]) => [...fact.possible]);
  for (const [fact, value] of effects) fact.maySet(value);
  const isAlone = catalog.products.filter(({ isBusy }) => isBusy).length <= 1;
  const caller = sent.operator ? {} : { token: catalog.key };
  const answer = await step.send(label, method, target, { ...caller, ...sent, ...(json !== undefined && { json }) });
  if (answer.outcome === "unknown") catalog.isUnsure = true;
  if (answer.outcome === "refused") for (const [i, [fact]] of effects.entries()) fact.restore(before[i] ?? []);
  if (answer.outcome !== "done") return answer;
  if (isAlone) catalog.isUnsure = false;
  if (step.isDisturbed() || step.model.followMs > 0) await settle(step);
  for (const [fact, value] of effects) fact.set(value);
  return answer;
}

/** An operation about a product that no other one changes at the time. */
export function onProduct(
  name: string,
  weight: number,
  run: (step: Step, product: Product, releases: Release[]) => Promise<unknown> | undefined,
): Operation {
  return {
    name,
    weight,
    start: (step) => {
      const { catalog } = step.model;
      const product = step.random.pick(catalog.products.filter(({ isBusy }) => !isBusy));
      if (!product || catalog.key === "") return null;
      product.isBusy = true;
      product.changes += 1;
      const there = product.releases.filter(({ exists }) => exists.canBe(true));
      return Promise.resolve(run(step, product, there)).then(() => {
        product.isBusy = false;
        product.changes += 1;
      });
    },
  };
}

/**
 * Publishes a version for all platforms of a product, with one request. Repeats it if there is no answer. `job`: the access token
 * of a CI job. Returns the status of the answer, if there is one.
 */
export async function publish(
  step: Step,
  product: Product,
  channel: string,
  percentage: number,
  job: string | null = null,
): Promise<number | null> {
  const { random } = step;
  const number = product.number++;
  const made = product.platforms.map((target) => {
    const [platform, architecture] = target.split("-");
    const version = `1.${number}.0`;
    const text = `${product.name} ${version} ${target} ${random.uuid()}`.repeat(1 + random.below(60));
    const fileName = `${product.name}-${version}.${platform === "macos" ? "zip" : "exe"}`;
    const id = `${product.name}-${target}-${version}`;
    const sha256 = createHash("sha256").update(text).digest("hex");
    const release = new Release(product, target, channel, number, id, fileName, sha256);
    release.exists.set(false);
    release.percentage.set(percentage);
    return {
      release,
      text,
      fields: { product: product.name, platform, architecture, channel, version, rollout: percentage },
    };
  });
  const isStored = step.world.storage.hasReleases && random.chance(0.5);
  const destination = isStored ? { kind: "storage" } : undefined;
  const releases = [];
  const uploads: Upload[] = [];
  for (const { release, text, fields } of made) {
    const one = await upload(step, text, release.fileName, { job });
    if (one === null) return null;
    uploads.push(one);
    releases.push({
      release: fields,
      files: [{ uploadId: one.id, kinds: ["installer", "update"], destination }],
      confirmations: { isNew: true },
    });
  }
  product.releases.push(...made.map(({ release }) => release));
  const effects: Effect[] = [
    ...made.map(({ release }): Effect => [release.exists, true]),
    ...uploads.map((one): Effect => [one.exists, false]),
  ];
  const headers = { "idempotency-key": random.uuid() };
  const sentBy = { headers, ...(job && { token: job }) };
  if (random.chance(0.1)) {
    const sent = { operator: "sim", json: { releases } };
    const { outcome } = await step.send("publish uploads of another", "POST", PATH, sent);
    if (outcome === "done") throw new Violation("upload of another works", product.name);
  }
  for (let isRepeated = false; ; isRepeated = true) {
    const label = `publish ${product.name}`;
    const answer = await change(step, label, ["POST", PATH, { releases }], effects, sentBy);
    if (answer.outcome === "unknown" && !isRepeated) continue;
    if (answer.outcome === "refused" && !job && !step.isDisturbed())
      throw new Violation("publication is refused", `${product.name}: ${JSON.stringify(answer.body)}`);
    return answer.outcome === "unknown" ? null : answer.status;
  }
}

/** Clients are about to get a release. */
function requireAdmitted({ isAdmitted, id }: Release, outcome: string): void {
  if (outcome === "done" && isAdmitted.is(false)) throw new Violation("unapproved release is rolled out", id);
}

/** Whether a release that is not yanked is offered by the catalog's percentage. */
const isServed = ({ percentage, rollout }: Release) => !percentage.canBe(0) && rollout.is(null);
const mayBeForEveryone = ({ isYanked, percentage, rollout }: Release) =>
  isYanked.canBe(false) && (percentage.canBe(100) || !rollout.is(null));
const isOfStream = (one: Release, { platform, channel }: Release) =>
  one.platform === platform && one.channel === channel;
const isNewer = (one: Release, other: Release) => isOfStream(one, other) && one.number > other.number;

/** What an operator's change of one release does. */
async function changeRelease(step: Step, release: Release, json: object, effects: readonly Effect[]) {
  const label = `change release ${release.id}`;
  const answer = await change(step, label, ["PATCH", `${PATH}/${release.id}`, json], effects);
  if (answer.body?.code === "release_not_found" && release.exists.is(true))
    throw new Violation("release is lost", release.id);
  return answer;
}

/** Whoever has published a release, by a key, does not approve it. */
async function approveOwn(step: Step, { id }: Release): Promise<void> {
  const { key, password } = step.model.catalog;
  const login = { json: { email: ADMIN, password, transport: "token" } };
  const { body } = await step.send("log in as the admin", "POST", "/api/auth/login", login);
  for (const token of [key, body?.token]) {
    if (!token) continue;
    const sent = { token, json: { filter: { ids: [id] } } };
    const answer = await step.send(`approve release ${id} as its publisher`, "POST", `${PATH}/approvals`, sent);
    if (answer.outcome === "done" && answer.body.releases[0]?.outcome === "approved")
      throw new Violation("publisher approves", id);
  }
}

/** The schedules of a release. A yank halts them, and they may go on when it is offered again. */
const mayHalt = (releases: readonly Release[]) => {
  for (const { rollout } of releases)
    for (const one of rollout.possible) {
      one?.state.maySet("halted");
      if (!one?.isHeld) one?.state.maySet("running");
    }
};

export const releaseOperations: Operation[] = [
  onProduct("publish", 1.2, (step, product) =>
    publish(step, product, step.random.pick(["stable", "beta"]), step.random.pick([100, 100, 50, 20, 0])),
  ),
  onProduct("abandon an upload", 0.3, async (step, product) => {
    const text = step.random.uuid().repeat(40);
    const until = 1 + step.random.below(text.length);
    const one = await upload(step, text, `${product.name}.exe`, { until });
    if (!one || until === text.length) return;
    const release = {
      product: product.name,
      platform: "windows",
      architecture: "x64",
      version: `1.${product.number}.0`,
    };
    const files = [{ uploadId: one.id, kinds: ["installer", "update"] }];
    const json = { releases: [{ release, files, confirmations: { isNew: true } }] };
    const sent = { token: step.model.catalog.key, json };
    const { outcome } = await step.send("publish an incomplete upload", "POST", PATH, sent);
    if (outcome === "done") throw new Violation("incomplete upload is published", product.name);
  }),
  onProduct("yank a release", 1.2, (step, _, releases) => {
    const release = step.random.pick(releases);
    const yanked = step.random.chance(0.6);
    if (!release) return;
    mayHalt([release]);
    return changeRelease(step, release, { yanked }, [[release.isYanked, yanked]]);
  }),
  onProduct("change a percentage", 1, async (step, _, releases) => {
    const release = step.random.pick(releases.slice(-4));
    const rollout = step.random.pick([0, 10, 50, 90, 100]);
    if (!release) return;
    const effects: Effect[] = [
      [release.percentage, rollout],
      [release.rollout, null],
    ];
    const isConditional = step.random.chance(0.3) && release.rollout.is(null);
    if (!isConditional) return void (await changeRelease(step, release, { rollout }, effects));
    const seen = await step.send(`see release ${release.id}`, "GET", `${PATH}/${release.id}`, {
      token: step.model.catalog.key,
    });
    const changed = await changeRelease(step, release, { rollout }, effects);
    if (seen.outcome !== "done" || changed.body?.releases?.[0]?.outcome !== "changed") return;
    // What was seen has changed since.
    const headers = { "if-match": seen.headers.get("etag") ?? "" };
    const json = { rollout: rollout === 50 ? 90 : 50 };
    const request: [string, string, unknown] = ["PATCH", `${PATH}/${release.id}`, json];
    const { outcome } = await change(step, `change release ${release.id} as it was`, request, [], { headers });
    if (outcome === "done") throw new Violation("precondition is ignored", release.id);
  }),
  onProduct("approve", 1.2, async (step, _, releases) => {
    const release = step.random.pick(releases.filter(({ isAdmitted }) => isAdmitted.canBe(false)).slice(-3));
    if (!release) return;
    if (step.random.chance(0.2)) await approveOwn(step, release);
    const audit = step.model.willAudit("release_approved");
    const request: [string, string, unknown] = ["POST", `${PATH}/approvals`, { filter: { ids: [release.id] } }];
    const effects: Effect[] = [[release.isAdmitted, true]];
    const answer = await change(step, `approve release ${release.id}`, request, effects, { operator: "sim" });
    const [approved] = answer.body?.releases ?? [];
    if (answer.outcome === "done" && approved.outcome === "approved") audit.done();
    else if (answer.outcome !== "unknown") audit.refused();
  }),
  onProduct("promote", 0.6, async (step, product, releases) => {
    const isPromoted = (one: Release) => product.releases.some((other) => other !== one && other.isSameBuild(one));
    const source = step.random.pick(releases.filter((one) => one.channel === "beta" && !isPromoted(one)));
    if (!source) return;
    const promoted = source.promoted();
    product.releases.push(promoted);
    const json = { filter: { ids: [source.id] }, from: "beta", to: "stable", rollout: step.random.pick([100, 30]) };
    promoted.percentage.set(json.rollout);
    const request: [string, string, unknown] = ["POST", `${PATH}/promotions`, json];
    await change(step, `promote release ${source.id}`, request, [[promoted.exists, true]]);
    if (promoted.exists.is(false)) product.releases.splice(product.releases.indexOf(promoted), 1);
  }),
  onProduct("roll back", 0.4, async (step, _, releases) => {
    const target = step.random.pick(releases.slice(0, -1));
    if (!target) return;
    const newer = releases.filter((one) => isNewer(one, target));
    const served = newer.filter((one) => one.exists.is(true) && one.isYanked.is(false) && isServed(one));
    mayHalt(newer);
    const before = newer.map(({ isYanked }) => [...isYanked.possible]);
    for (const { isYanked } of newer) isYanked.maySet(true);
    const request: [string, string, unknown] = ["POST", `${PATH}/rollbacks`, { filter: { ids: [target.id] } }];
    const effects: Effect[] = [
      [target.percentage, 100],
      [target.rollout, null],
    ];
    const answer = await change(step, `roll back to release ${target.id}`, request, effects);
    requireAdmitted(target, answer.outcome);
    const kept = served.find(({ id }) => answer.outcome === "done" && !answer.body.withdrawn.includes(id));
    if (kept) throw new Violation("newer release is not withdrawn", `${kept.id}, newer than ${target.id}`);
    for (const [i, one] of newer.entries()) {
      if (answer.outcome !== "unknown") one.isYanked.restore(before[i] ?? []);
      if (answer.outcome === "done" && answer.body.withdrawn.includes(one.id)) one.isYanked.set(true);
    }
  }),
  onProduct("remove a release", 0.4, async (step, _, releases) => {
    const release = step.random.pick(releases.slice(0, -1));
    if (!release) return;
    const isForced = step.random.chance(0.7);
    const isUsed = release.isYanked.is(false) && isServed(release);
    const request: [string, string] = ["DELETE", `${PATH}/${release.id}?force=${isForced}`];
    const { outcome } = await change(step, `remove release ${release.id}`, request, [[release.exists, false]]);
    if (outcome === "done" && isUsed && !isForced) throw new Violation("offered release is removed", release.id);
  }),
  onProduct("prune", 0.4, async (step, product, releases) => {
    const before = releases.map(({ exists }) => [...exists.possible]);
    for (const { exists } of releases) exists.maySet(false);
    const json = { filter: { product: product.name }, keep: step.random.pick([1, 2, 3]), isDryRun: false };
    const answer = await change(step, `prune ${product.name}`, ["POST", `${PATH}/prune`, json], []);
    if (answer.outcome === "unknown") return;
    const pruned = releases.filter(({ id }) => answer.outcome === "done" && answer.body.releases.includes(id));
    for (const one of pruned) {
      const newer = releases.filter((other) => isNewer(other, one));
      // One that all clients receive is needed, and all newer ones, whoever receives them.
      const isNeeded = !newer.some(mayBeForEveryone);
      if (isNeeded || newer.length < json.keep) throw new Violation("needed release is pruned", one.id);
    }
    for (const [i, { exists }] of releases.entries()) exists.restore(before[i] ?? []);
    for (const { exists } of pruned) exists.set(false);
  }),
  onProduct("schedule a rollout", 0.7, async (step, product, releases) => {
    const release = step.random.pick(releases.slice(-2));
    if (!release) return;
    // A database server has its own clock.
    const startsAt = step.model.followMs === 0 && step.random.chance(0.3) ? step.nowMs + START_DELAY_MS : null;
    const steps = [10, 40, 100].slice(step.random.below(2));
    const everySeconds = step.random.pick([60, 180]);
    const initial = startsAt === null ? steps[0] : 0;
    const rollout = new Rollout(release, steps, everySeconds, startsAt ?? step.nowMs, initial);
    if (startsAt !== null) rollout.state.maySet("halted");
    const json = {
      filter: { ids: [release.id] },
      steps,
      everySeconds,
      minAdoptionShare: 0,
      ...(startsAt !== null && { startsAt: new Date(startsAt).toISOString() }),
    };
    const effects: Effect[] = [
      [release.rollout, rollout],
      [release.percentage, initial],
    ];
    const answer = await change(step, `schedule release ${release.id}`, ["POST", `${PATH}/rollouts`, json], effects);
    requireAdmitted(release, answer.outcome);
    if (answer.outcome === "done") {
      rollout.id = answer.body.id;
      product.rollouts.push(rollout);
    }
  }),
  onProduct("change a rollout", 0.7, async (step, product) => {
    const rollout = step.random.pick(product.rollouts);
    if (!rollout) return;
    const state = step.random.pick(["halted", "running", "completed"] as const);
    const request: [string, string, unknown] = ["PATCH", `${PATH}/rollouts/${rollout.id}`, { state }];
    const couldBeAtLast = rollout.mayBeAtLast;
    rollout.isHeld &&= state === "halted";
    // It starts before its time.
    if (state !== "halted") rollout.startedAtMs = Math.min(rollout.startedAtMs, step.nowMs);
    rollout.mayBeAtLast ||= state === "completed";
    const { outcome } = await change(step, `have a rollout ${state}`, request, [[rollout.state, state]]);
    if (outcome === "refused") rollout.mayBeAtLast = couldBeAtLast;
    if (outcome === "done" && state === "halted") rollout.isHeld = true;
  }),
  onProduct("see a rollout", 0.7, async (step, product) => {
    const rollout = step.random.pick(product.rollouts);
    if (rollout) await seeRollout(step, rollout);
  }),
  onProduct("damage a file", 0.3, async (step, _, releases) => {
    const release = step.random.pick(releases.filter((one) => one.isOffered()));
    if (!release || disk.isFull()) return;
    const { id, sha256, fileName } = release;
    const file = path.join(step.world.context.config.DATA_DIR, "releases", sha256.slice(0, 16), fileName);
    const url = fileUrl(release);
    const download = () => step.send(`download ${id}`, "GET", url, {}, () => true);
    await download();
    if (!existsSync(file)) return;
    const bytes = readFileSync(file);
    writeFileSync(file, Buffer.from(bytes).fill("x", 0, 1));
    const { outcome, body } = await download();
    writeFileSync(file, bytes);
    sync(file);
    if (outcome === "done" && hashOf(body) !== sha256) throw new Violation("file is not what was published", id);
  }),
  onProduct("verify a release", 0.3, async (step, _, releases) => {
    const release = step.random.pick(releases.filter((one) => one.exists.is(true) && one.isYanked.is(false)));
    if (!release) return;
    const { storage } = step.world;
    const object = `releases/${release.sha256.slice(0, 16)}/${release.fileName}`;
    const isDamaged = storage.objects.has(object) && storage.damaged === null && step.random.chance(0.5);
    if (isDamaged) storage.damaged = object;
    const sent = { token: step.model.catalog.key, json: { releaseId: release.id } };
    const { outcome, body } = await step.send(`verify release ${release.id}`, "POST", `${PATH}/verifications`, sent);
    if (isDamaged) storage.damaged = null;
    if (outcome !== "done") return;
    const isIntact = body.files.every(({ problem }: { problem: string | null }) => problem === null);
    if (isDamaged && isIntact) throw new Violation("damaged file is not reported", release.id);
    if (!isDamaged && !isIntact && !step.isDisturbed())
      throw new Violation("intact file is reported", `${release.id}: ${JSON.stringify(body.files)}`);
  }),
  onProduct("edit the catalog", 0.4, async (step, product, releases) => {
    const { catalog } = step.model;
    const release = step.random.pick(releases);
    // Whoever edits the file has no lock, so an edit during a change is lost.
    const isCalm = catalog.products.every((one) => (!one.isBusy || one === product) && one.rollouts.length === 0);
    if (!release || !isCalm || catalog.isUnsure || disk.isFull()) return;
    step.note(`somebody edits release ${release.id}`);
    const yanked = editCatalog(step, release);
    if (yanked === null) return;
    release.isYanked.maySet(yanked);
    // It is read every second.
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    release.isYanked.set(yanked);
  }),
];

/** Yanks a release, or takes that back, in the file. Returns what it is then; null if the file has no such release. */
function editCatalog({ world }: Step, { id, edited }: Release): boolean | null {
  const file = path.join(world.context.config.DATA_DIR, "releases", "catalog.json");
  const document = JSON.parse(readFileSync(file, "utf8"));
  const entry = document.releases.find((one: { id: string }) => one.id === id);
  if (!entry) return null;
  edited.isYanked += entry.yanked ? -1 : 1;
  entry.yanked = !entry.yanked;
  writeFileSync(`${file}.edited`, JSON.stringify(document));
  sync(`${file}.edited`);
  renameSync(`${file}.edited`, file);
  sync(path.dirname(file));
  return entry.yanked;
}

function sync(place: string): void {
  const fd = openSync(place, "r");
  fsyncSync(fd);
  closeSync(fd);
}

async function seeRollout(step: Step, rollout: Rollout): Promise<string> {
  const sent = { token: step.model.catalog.key };
  const answer = await step.send("see a rollout", "GET", `${PATH}/rollouts/${rollout.id}`, sent);
  const { release } = rollout;
  if (answer.outcome === "refused" && release.exists.is(true) && release.rollout.is(rollout))
    throw new Violation("rollout is lost", release.id);
  if (answer.outcome !== "done") return answer.outcome;
  const { state, step: reached } = answer.body;
  rollout.saw(state === "scheduled" ? "halted" : state, reached, step.nowMs);
  await settle(step);
  rollout.step = reached;
  return state;
}

/** The catalog, the audit trail and what clients get agree with each other, and with what was acknowledged. */
export async function checkReleases(step: Step): Promise<void> {
  const { products, uploads } = step.model.catalog;
  step.model.catalog.isFresh = true;
  for (const { rollouts } of products) for (const rollout of rollouts) await completeRollout(step, rollout);
  await step.world.passAtRest(11_000); // within ten seconds all processes have read the schedules
  await checkReports(step);
  const events = await readEvents(step);
  for (const { id, state } of products.flatMap(({ rollouts }) => rollouts)) {
    const count = (type: string) => events.filter((one) => one.target === `rollout:${id}` && one.type === type).length;
    if (count("rollout_started") !== 1 || (state.is("completed") && count("rollout_completed") === 0))
      throw new Violation("audit event is missing", `rollout ${id} is ${state.possible}`);
  }
  for (const product of products) {
    await checkCatalog(step, product, events);
    await checkUpdates(step, product);
  }
  const unfinished = uploads.filter(({ exists }) => exists.canBe(true));
  for (const one of [...unfinished.slice(-8), ...uploads.slice(-2)]) await seeUpload(step, one);
  await checkMirror(step);
}

/** A rollout that runs comes to its end. */
async function completeRollout(step: Step, rollout: Rollout): Promise<void> {
  // One that is scheduled for later starts within a minute of its time.
  const waitMs = rollout.startedAtMs - step.nowMs;
  if (waitMs > 0) await step.world.passAtRest(waitMs + 61_000);
  let state = await seeRollout(step, rollout);
  for (let minutes = 0; state === "running" || state === "scheduled"; minutes++) {
    if (minutes > 2 + (rollout.steps.length * rollout.everySeconds) / 30)
      throw new Violation("rollout does not advance", rollout.release.id);
    await step.world.passAtRest(61_000);
    state = await seeRollout(step, rollout);
  }
  if (state === "completed" || state === "halted") rollout.state.set(state);
}

type Entry = {
  id: string;
  platform: string;
  architecture: string;
  channel: string;
  version: string;
  yanked: boolean;
  rollout: number;
  admission?: string;
};

async function checkCatalog(
  step: Step,
  product: Product,
  events: Awaited<ReturnType<typeof readEvents>>,
): Promise<void> {
  const sent = { token: step.model.catalog.key };
  const answer = await step.send("list releases", "GET", `${PATH}?product=${product.name}&limit=100`, sent);
  const entries = answer.body.releases as Entry[];
  for (const release of product.releases) {
    const { id, exists, isYanked, isAdmitted, percentage, rollout, edited } = release;
    const entry = entries.find((one) => one.id === id);
    saw(exists, entry !== undefined, entry ? "removed release is there" : "release is lost", id);
    const own = events.filter(({ target }) => target === `release:${id}`);
    const isThere = sum(own, ({ type, details }) =>
      type === "release_removed" ? -1 : details.outcome === "added" ? 1 : 0,
    );
    if ((isThere === 1) !== (entry !== undefined))
      throw new Violation("catalog and audit trail differ", `${id} is ${entry ? "" : "not "}there`);
    if (!entry) continue;
    saw(isYanked, entry.yanked, "release is not as it was set", `${id} is ${entry.yanked ? "" : "not "}yanked`);
    saw(isAdmitted, entry.admission !== "pending", "release is not as it was approved", `${id}: ${entry.admission}`);
    if (rollout.is(null)) saw(percentage, entry.rollout, "release is not as it was set", `${id}: ${entry.rollout} %`);
    const yanks = sum(
      own,
      ({ details: { from, to } }) => Number(to?.yanked ?? 0) - Number((to && "yanked" in to && from?.yanked) ?? 0),
    );
    if (yanks + edited.isYanked !== Number(entry.yanked))
      throw new Violation("catalog and audit trail differ", `${id} is ${entry.yanked ? "" : "not "}yanked`);
  }
  const unknown = entries.find(({ id }) => !product.releases.some((one) => one.id === id));
  if (unknown) throw new Violation("catalog has an unknown release", unknown.id);
}

function saw<T>(fact: Fact<T>, value: T, check: string, message: string): void {
  if (!fact.canBe(value)) throw new Violation(check, message);
  fact.set(value);
}

const sum = <T>(items: readonly T[], count: (item: T) => number) =>
  items.reduce((total, item) => total + count(item), 0);

type ReleaseEvent = {
  type: string;
  target: string;
  details: { outcome?: string; from?: { yanked?: boolean }; to?: { yanked?: boolean } };
};

/** What the audit trail says of releases and their rollouts. */
const readEvents = ({ world }: Step) =>
  world.context.db.$queryRaw<
    ReleaseEvent[]
  >`SELECT "type", "target", "details" FROM "AuditEvent" WHERE "target" LIKE 'release:%' OR "target" LIKE 'rollout:%'`;
