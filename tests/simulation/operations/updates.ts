import { createHash } from "node:crypto";
import { Violation } from "../model/fact";
import type { Product, Release } from "../model/releases";
import type { Operation, Step } from "./operation";

const CLIENTS = ["ann", "bob", "cid", "dot", "eve", "fay"];
type Client = { id: string; platform: string; channel: string };

/** A client checks for updates, and perhaps downloads what it is offered. */
async function checkForUpdates(step: Step, product: Product, client: Client, isDownloaded: boolean): Promise<void> {
  const { changes } = product;
  const { id, platform: target, channel } = client;
  const [platform, architecture] = target.split("-");
  const query = `product=${product.name}&platform=${platform}&architecture=${architecture}&channel=${channel}&clientId=${id}`;
  const answer = await step.send(`check for updates of ${product.name}`, "GET", `/api/version?${query}`);
  if (answer.outcome === "unknown" || product.changes !== changes) return;
  // A product is known by its releases.
  const isKnown = product.releases.some(({ exists }) => exists.is(true));
  const isNone = answer.body?.code === "release_not_found" || (!isKnown && answer.body?.code === "invalid_query");
  if (answer.outcome === "refused" && !isNone)
    throw new Violation("update check is refused", `${query}: ${answer.body?.code}`);
  const offered = answer.outcome === "done" ? answer.body : null;
  const release = offered && step.model.catalog.find(product.name, target, offered.channel, offered.version);
  if (offered && !release)
    throw new Violation("unknown release is offered", `${offered.version} on ${offered.channel}`);
  product.sawOffer(client, release ?? null, step.nowMs);
  if (step.random.chance(0.3)) await readFeed(step, product, channel);
  if (!isDownloaded || !release) return;
  const { pathname, search } = new URL(offered.artifact.url);
  await download(step, release, changes, pathname + search);
}

/** What updaters, and links that stay the same, ask for: each names a version and a platform, or is the file that does. */
const FEEDS = ["latest.yml", "latest-mac.yml", "RELEASES.json", "latest/windows-x64.exe", "latest/macos-universal.zip"];
export const OFFERED = /\b(1\.\d+\.0)[ /](windows-x64|macos-universal)\b/g;

/** A feed has nothing that nobody may be offered. */
async function readFeed(step: Step, product: Product, channel: string): Promise<void> {
  const { changes } = product;
  const file = step.random.pick(FEEDS);
  const mayBeGone = () => product.isBusy || product.changes !== changes;
  const path = `/api/updates/${product.name}/${channel}/${file}`;
  const { outcome, body } = await step.send(`read ${file} of ${product.name}`, "GET", path, {}, mayBeGone);
  if (outcome !== "done" || mayBeGone()) return;
  const text = typeof body === "string" ? body : JSON.stringify(body);
  for (const [, version, platform] of text.matchAll(OFFERED)) {
    const isOffered = product.releases.some(
      (one) =>
        one.version === version &&
        one.platform === platform &&
        (one.channel === "stable" || one.channel === channel) &&
        one.canBeOffered() &&
        one.percentages(step.nowMs).some((percentage) => percentage > 0),
    );
    if (!isOffered)
      throw new Violation("yanked release is offered", `${version} for ${platform} by ${channel}/${file}`);
  }
}

/** `changes`: those of the product when the release was there. The file goes with it, before all processes know that. */
async function download(step: Step, release: Release, changes: number, path: string): Promise<void> {
  const { product, id } = release;
  const mayBeGone = () => product.isBusy || product.changes !== changes;
  const { outcome, body, headers } = await step.send(`download ${id}`, "GET", path, {}, mayBeGone);
  if (product.changes !== changes) return;
  const location = headers.get("location");
  const file = location === null ? body : step.world.readStored(location);
  if (file === null) throw new Violation("download leads to no file", `${id}: ${location}`);
  sawFile(release, outcome, file);
}

function sawFile(release: Release, outcome: string, body: unknown): void {
  if (outcome === "refused") {
    if (release.isOffered()) throw new Violation("file of an offered release is not there", release.id);
    return;
  }
  if (outcome === "unknown") return;
  // The link goes on working while the build is on another channel.
  if (!release.product.releases.some((one) => one.isSameBuild(release) && one.canBeOffered()))
    throw new Violation("file of a withdrawn release is served", release.id);
  const sha256 = hashOf(body);
  if (sha256 !== release.sha256)
    throw new Violation("file is not what was published", `${release.id}: ${sha256} ${String(body).slice(0, 80)}`);
}

export const fileUrl = ({ product, channel, version, platform, fileName }: Release) =>
  `/api/updates/${product.name}/${channel}/${version}/${platform}/${fileName}`;
export const hashOf = (body: unknown) => createHash("sha256").update(String(body)).digest("hex");

/** The file of a release, by the link that feeds have. */
async function downloadRelease(step: Step, release: Release): Promise<void> {
  await download(step, release, release.product.changes, fileUrl(release));
}

/** All that clients get now. */
export async function checkUpdates(step: Step, product: Product): Promise<void> {
  for (const platform of product.platforms)
    for (const channel of ["stable", "beta"])
      for (const id of CLIENTS.slice(0, 3)) await checkForUpdates(step, product, { id, platform, channel }, false);
  for (const release of product.releases) await downloadRelease(step, release);
}

const MAX_REPORTS = 40;

/** What clients have reported is stored within a minute, unless the process has ended before. */
export async function checkReports({ model, world }: Step): Promise<void> {
  const { sent, acknowledged } = model.catalog.reports;
  const read = async () => {
    const [row] = await world.context.db.$queryRaw<{ count: number }[]>`
      SELECT COALESCE(sum("reports"), 0)::int AS count FROM "UpdateReportCount"`;
    return row?.count ?? 0;
  };
  let count = await read();
  for (let minutes = 0; minutes < 3 && count < acknowledged; minutes++) {
    await world.passAtRest(61_000);
    count = await read();
  }
  const isLost = count < acknowledged && model.crashes.count === 0 && model.followMs === 0;
  // A statement that has failed may have been applied.
  if (isLost || (count > sent && world.faults === 0))
    throw new Violation("update reports differ", `${count}, of ${acknowledged} to ${sent}`);
}

export const updateOperations: Operation[] = [
  {
    name: "check for updates",
    weight: 4,
    start: (step) => {
      const { model, random } = step;
      const product = random.pick(model.catalog.products);
      const [id, platform] = [random.pick(CLIENTS), random.pick(product.platforms)];
      return checkForUpdates(
        step,
        product,
        { id, platform, channel: random.pick(["stable", "beta"]) },
        random.chance(0.3),
      );
    },
  },
  {
    name: "report an update",
    weight: 0.5,
    start: (step) => {
      const { random, model } = step;
      const { reports, products } = model.catalog;
      const product = random.pick(products);
      const release = random.pick(product.releases);
      // More of them may halt a rollout.
      if (!release || reports.sent === MAX_REPORTS) return null;
      return (async () => {
        reports.sent += 1;
        const [platform, architecture] = release.platform.split("-");
        const outcome = random.pick(["installed", "installed", "failed", "rolled_back"]);
        const from = random.pick(product.releases)?.version;
        const json = { version: release.version, from, outcome, platform, architecture };
        const answer = await step.send("report an update", "POST", `/api/updates/${product.name}/report`, { json });
        if (answer.outcome === "done") reports.acknowledged += 1;
      })();
    },
  },
  {
    name: "download a release",
    weight: 1,
    start: (step) => {
      const release = step.random.pick(step.random.pick(step.model.catalog.products).releases);
      return release ? downloadRelease(step, release) : null;
    },
  },
];
