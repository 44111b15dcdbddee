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
  if (!isDownloaded || !release) return;
  const { pathname, search } = new URL(offered.artifact.url);
  await download(step, release, changes, pathname + search);
}

/** `changes`: those of the product when the release was there. The file goes with it, before all processes know that. */
async function download(step: Step, release: Release, changes: number, path: string): Promise<void> {
  const { product, id } = release;
  const mayBeGone = () => product.isBusy || product.changes !== changes;
  const answer = await step.send(`download ${id}`, "GET", path, {}, mayBeGone);
  if (product.changes === changes) sawFile(release, answer.outcome, answer.body);
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
  const sha256 = createHash("sha256").update(String(body)).digest("hex");
  if (sha256 !== release.sha256)
    throw new Violation("file is not what was published", `${release.id}: ${sha256} ${String(body).slice(0, 80)}`);
}

/** The file of a release, by the link that feeds have. */
async function downloadRelease(step: Step, release: Release): Promise<void> {
  const { product, channel, version, platform, fileName } = release;
  const path = `/api/updates/${product.name}/${channel}/${version}/${platform}/${fileName}`;
  await download(step, release, product.changes, path);
}

/** All that clients get now. */
export async function checkUpdates(step: Step, product: Product): Promise<void> {
  for (const platform of product.platforms)
    for (const channel of ["stable", "beta"])
      for (const id of CLIENTS.slice(0, 3)) await checkForUpdates(step, product, { id, platform, channel }, false);
  for (const release of product.releases) await downloadRelease(step, release);
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
    name: "download a release",
    weight: 1,
    start: (step) => {
      const release = step.random.pick(step.random.pick(step.model.catalog.products).releases);
      return release ? downloadRelease(step, release) : null;
    },
  },
];
