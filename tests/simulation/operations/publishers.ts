import { Violation } from "../model/fact";
import type { Operation, Sent, Step } from "./operation";
import { reachOtherProduct, seeAudit } from "./operators";
import { type Access, Publisher } from "./publisher";
import { onProduct, publish } from "./releases";

const PATH = "/api/admin/publishers";
/** How long an access token of a job works. */
const TOKEN_MS = 15 * 60_000;
/** By how much clocks differ, and how long a publication may take. */
const [CLOCK_MS, PUBLICATION_MS] = [11_000, 60_000];

/** An operation about a publisher that no other is about at the time. */
function onPublisher(
  name: string,
  weight: number,
  suits: (publisher: Publisher) => boolean,
  run: (step: Step, publisher: Publisher) => Promise<void>,
): Operation {
  return {
    name,
    weight,
    start: (step) => {
      const suitable = step.model.publishers.filter((one) => !one.isBusy && suits(one));
      const publisher = step.random.pick(suitable.slice(-4));
      if (!publisher) return null;
      publisher.isBusy = true;
      return run(step, publisher).then(() => {
        publisher.isBusy = false;
      });
    },
  };
}

/** Trusts a workflow. The same one that is added twice is one. */
async function addPublisher(step: Step): Promise<void> {
  const { model, random } = step;
  const [product, channel] = [random.pick(model.catalog.products).name, random.pick([null, "stable"])];
  const number = random.below(1e9);
  const job = { type: "github", repository: `acme/app-${number}`, workflow: "release.yml", ref: "refs/tags/v*" };
  const sent = { operator: "sim", json: { ...job, product, channel } };
  const audit = model.willAudit("publisher_added");
  const add = () => step.send("add a publisher", "POST", PATH, sent);
  const answers = await Promise.all(random.chance(0.2) ? [add(), add()] : [add()]);
  const done = answers.filter(({ outcome }) => outcome === "done");
  if (new Set(done.map(({ body }) => body.id)).size > 1) throw new Violation("publisher is added twice", `${number}`);
  if (answers.every(({ outcome }) => outcome === "refused")) audit.refused();
  if (!done[0]) return;
  audit.done();
  model.publishers.push(new Publisher(done[0].body.id, product, channel, number));
}

/** What is wrong with an ID token: its claims, or its signature. */
function forgeryOf({ nowMs, random }: Step, { isPinned, number }: Publisher): [what: string, claims: object] {
  const iat = Math.floor(nowMs / 1_000) - 600;
  const forgeries: [string, object][] = [
    ["repository", { repository: `acme/fork-${number}` }],
    ["audience", { aud: "https://other.example.com" }],
    ["time", { iat, exp: iat + 300 }],
    ["event", { event_name: "pull_request" }],
    ["ref", { ref: "refs/heads/main" }],
    ["signature", {}],
    ["product", {}],
  ];
  if (isPinned) forgeries.push(["repository's id", { repository_id: "1" }]);
  return random.pick(forgeries);
}

/** Exchanges the ID token of a job, which works once. */
async function exchange(step: Step, publisher: Publisher): Promise<void> {
  const { model, random, world, nowMs } = step;
  const { product, claims } = publisher;
  const [wrong, changed] = random.chance(0.3) ? forgeryOf(step, publisher) : [null, {}];
  const idToken = () => world.ci.token(nowMs, { ...claims, aud: world.origin, jti: random.uuid(), ...changed });
  const [given, other] = [idToken(), idToken()];
  const forged = [...given.split(".").slice(0, 2), ...other.split(".").slice(2)].join(".");
  const elsewhere = model.catalog.products.find(({ name }) => name !== product)?.name ?? "";
  const old = random.chance(0.15) ? random.pick(publisher.used) : undefined;
  const subject = old ?? (wrong === "signature" ? forged : given);
  const form = {
    grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
    subject_token: subject,
    subject_token_type: "urn:ietf:params:oauth:token-type:id_token",
    ...(wrong === "product" ? { audience: elsewhere } : random.chance(0.5) && { audience: product }),
  };
  const [isOld, isWrong] = [old !== undefined, old === undefined && wrong !== null];
  const mustWork = publisher.works.is(true);
  const send = () => step.send("exchange the token of a job", "POST", "/api/auth/oauth/token", { form });
  publisher.issued.unknown += 1;
  const answers = await Promise.all(random.chance(0.3) ? [send(), send()] : [send()]);
  if (random.chance(0.2)) answers.push(await send());
  const done = answers.filter(({ outcome }) => outcome === "done");
  const isRefused = answers.every(({ outcome }) => outcome === "refused");
  if (done.length > 0) publisher.issued.acknowledged += 1;
  if (done.length > 0 || (isRefused && !step.isDisturbed())) publisher.issued.unknown -= 1;
  if (done.length > 0 && isWrong)
    throw new Violation("token of a job works without its proof", `its ${wrong} of ${publisher.id}`);
  if (done.length > (isOld ? 0 : 1)) throw new Violation("token of a job works twice", publisher.id);
  if (done.length > 0) publisher.used.push(subject);
  const [issued] = done;
  if (issued) {
    publisher.saw(true);
    publisher.isPinned = true;
    if (issued.body.publisher.product !== product) throw new Violation("job reaches another product", publisher.id);
    const access = { token: issued.body.access_token, expiresAtMs: step.nowMs + TOKEN_MS };
    publisher.access.push(access);
    if (random.chance(0.5)) await actAsJob(step, publisher, access);
  } else if (isRefused && !isWrong && !isOld && mustWork && !step.isDisturbed())
    throw new Violation("publisher is refused", `${publisher.id}: ${answers[0]?.body?.error}`);
}

/** A job reads releases of its product alone, and nothing else, as long as its publisher is there. */
async function actAsJob(step: Step, publisher: Publisher, { token, expiresAtMs }: Access): Promise<void> {
  const { product } = publisher;
  const sentAtMs = step.nowMs;
  const answer = await step.send("list releases as a job", "GET", "/api/admin/releases?limit=100", { token });
  const worked = answer.outcome === "done";
  if (worked && sentAtMs > expiresAtMs + CLOCK_MS) throw new Violation("expired token of a job works", publisher.id);
  if (worked || (answer.outcome === "refused" && step.nowMs < expiresAtMs - CLOCK_MS)) publisher.saw(worked);
  if (!worked) return;
  const listed: { product: string }[] = answer.body.releases;
  if (listed.some((release) => release.product !== product))
    throw new Violation("job reaches another product", publisher.id);
  const path = step.random.pick(["/api/admin/accounts?limit=1", "/api/admin/audit?limit=1", "/api/admin/keys", PATH]);
  const { outcome } = await step.send("see other things as a job", "GET", path, { token });
  if (outcome === "done") throw new Violation("job acts as an operator", path);
  await reachOtherProduct(step, { key: token, products: [product] });
}

async function removePublisher(step: Step, publisher: Publisher): Promise<void> {
  const { model, random } = step;
  const subject = `target=publisher:${publisher.id}`;
  const wasThere = publisher.works.is(true);
  publisher.mayEnd();
  const audit = model.willAudit("publisher_removed", subject);
  const answer = await step.send("remove a publisher", "DELETE", `${PATH}/${publisher.id}`, { operator: "sim" });
  if (answer.outcome === "unknown") publisher.isUnsure = true;
  else {
    if (answer.outcome === "done") audit.done();
    else if (wasThere && !step.isDisturbed()) throw new Violation("publisher is lost", publisher.id);
    else if (!publisher.isUnsure && !step.isDisturbed()) audit.refused();
    publisher.end();
    publisher.isUnsure = false;
  }
  await seeAudit(step, "publisher_removed", subject);
  const access = publisher.access.at(-1);
  if (access && random.chance(0.7)) await actAsJob(step, publisher, access);
}

/** It is there or not, and each of its tokens has its event in the audit trail. */
export async function seePublisher(step: Step, publisher: Publisher): Promise<void> {
  const { id, issued } = publisher;
  const answer: Sent = await step.send("see a publisher", "GET", `${PATH}/${id}`, { operator: "sim" });
  if (answer.outcome !== "unknown") publisher.saw(answer.outcome === "done");
  const target = `/api/admin/audit?limit=100&type=publisher_token_issued&target=publisher:${id}`;
  const { outcome, body } = await step.send("see the audit trail of a publisher", "GET", target, { operator: "sim" });
  if (outcome !== "done" || body.nextCursor !== null) return;
  const text = `publisher_token_issued ${id}: ${body.events.length}, of ${issued.acknowledged} tokens`;
  if (body.events.length < issued.acknowledged) throw new Violation("audit event is missing", text);
  if (body.events.length > issued.acknowledged + issued.unknown)
    throw new Violation("audit event without a change", text);
}

export const publisherOperations: Operation[] = [
  { name: "add a publisher", weight: 0.6, start: addPublisher },
  onPublisher("exchange the token of a job", 2, () => true, exchange),
  onPublisher(
    "list releases as a job",
    0.7,
    ({ access }) => access.length > 0,
    (step, publisher) => actAsJob(step, publisher, step.random.pick(publisher.access.slice(-3))),
  ),
  onPublisher("remove a publisher", 0.3, () => true, removePublisher),
  onPublisher("see a publisher", 0.4, () => true, seePublisher),
  onProduct("publish as a job", 0.8, async (step, product) => {
    const { model, random } = step;
    const publishers = model.publishers.filter((one) => !one.isBusy && one.product === product.name);
    const publisher = random.pick(publishers.filter(({ access }) => access.length > 0).slice(-3));
    const access = publisher?.access.at(-1);
    // Whoever has just added a publisher approves nothing of its jobs.
    if (!publisher || !access || product.needsApproval) return;
    publisher.isBusy = true;
    const mayEnd = !publisher.works.is(true) || step.nowMs > access.expiresAtMs - PUBLICATION_MS;
    const channel = random.pick(["stable", "stable", "beta"]);
    const status = await publish(step, product, channel, 100, access.token);
    const isDone = status !== null && status < 400;
    const isOther = publisher.channel !== null && channel !== publisher.channel;
    if (isDone && publisher.works.is(false)) throw new Violation("ended publisher works", publisher.id);
    if (isDone && isOther) throw new Violation("job publishes on another channel", publisher.id);
    const isExpected = isDone || status === null || mayEnd || step.isDisturbed() || isOther;
    if (!isExpected) throw new Violation("publication is refused", `${publisher.id}: ${status}`);
    publisher.isBusy = false;
  }),
];
