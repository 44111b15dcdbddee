import { Violation } from "../model/fact";
import type { Release } from "../model/releases";
import type { Operation, Step } from "./operation";
import { hashOf, OFFERED } from "./updates";

const PATH = "/api/admin/releases/mirror";
/** What others have changed on the mirror is found within ten minutes. */
const LISTED_MS = 601_000;
/** How often the state is read until it has to be current, every three seconds. */
const MAX_TRIES = 40;

const pathOf = ({ product, channel, version, platform, fileName }: Release) =>
  `${product.name}/${channel}/${version}/${platform}/${fileName}`;

/** Whether all clients may get it, or will. The mirror has no other release. */
const mayBeMirrored = (release: Release) =>
  release.canBeOffered() && (release.percentage.canBe(100) || !release.rollout.is(null));
const mustBeMirrored = (release: Release) =>
  release.isOffered() && release.percentage.is(100) && release.rollout.is(null);

const releasesOf = ({ model }: Step) => model.catalog.products.flatMap(({ releases }) => releases);

/** What is on the mirror at this moment is whole, and whatever a feed names is there. */
function seeMirror(step: Step): Map<string, Buffer> {
  const { world, model } = step;
  const contents = world.readMirror();
  const releases = releasesOf(step);
  for (const [path, bytes] of contents) {
    const [product = "", channel = "", ...rest] = path.split("/");
    if (!model.catalog.products.some(({ name }) => name === product)) continue; // a sample, until the first release
    const isLatest = rest[0] === "latest";
    if (isLatest || rest.length === 3) {
      const found = isLatest
        ? releases.filter((one) => one.product.name === product)
        : releases.filter((one) => pathOf(one) === path);
      const sha256 = hashOf(bytes);
      if (!found.some((one) => one.sha256 === sha256))
        throw new Violation("file on the mirror is not whole", `${path}: ${bytes.length} bytes`);
    }
    // The removal of a feed from a folder may be lost when the process ends, and that of its file not.
    const areLinked = model.crashes.count === 0;
    const missing = areLinked && namesIn(path, bytes.toString()).find((name) => !contents.has(name));
    if (missing) throw new Violation("feed on the mirror names no file", `${missing} by ${path} of ${channel}`);
  }
  return contents;
}

/** The paths of the files that a feed names. */
function namesIn(path: string, text: string): string[] {
  const folder = `https://sim.example.com/api/updates/${path}`;
  const isFeed = /\.(yml|json|xml)$|\/(windows|darwin)[^/]*\/[^/]*\/?1\.\d+\.0$/.test(path);
  const urls = isFeed ? [...text.matchAll(/(?:\burl|"url")"?: "([^"]+)"/g)].map(([, url = ""]) => url) : [];
  return urls
    .map((url) => new URL(url, folder).pathname)
    .filter((name) => name.startsWith("/api/updates/"))
    .map((name) => decodeURIComponent(name.slice("/api/updates/".length)));
}

/** Waits until the mirror says that it is current. */
async function untilCurrent(step: Step): Promise<void> {
  const sent = { token: step.model.catalog.key };
  for (let tries = 0; ; tries++) {
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    const { body } = await step.send("see the mirror", "GET", PATH, sent);
    if (body.isCurrent) return;
    if (tries === MAX_TRIES) throw new Violation("mirror is behind", JSON.stringify(body));
  }
}

type Problem = { path: string; problem: string };

/** What the service's own check of the mirror says. */
async function verify(step: Step): Promise<Problem[]> {
  const problems: Problem[] = [];
  for (let after: string | undefined; after !== null; ) {
    const sent = { token: step.model.catalog.key, json: { after } };
    const { outcome, body } = await step.send("verify the mirror", "POST", `${PATH}/verifications`, sent);
    if (outcome !== "done") throw new Violation("mirror cannot be verified", JSON.stringify(body));
    problems.push(...body.problems);
    after = body.next;
  }
  return problems;
}

/** After all faults have ceased: the mirror has what all clients may get, and nothing else. */
export async function checkMirror(step: Step): Promise<void> {
  if (step.world.mirror === null) return;
  await untilCurrent(step);
  await checkContents(step);
  const [problem] = await verify(step);
  if (problem) throw new Violation("check of the mirror is wrong", `${problem.path} ${problem.problem}`);
  const released = [...seeMirror(step)].filter(([path]) => path.split("/").length === 5);
  if (released.length === 0) return;
  const [path, bytes] = step.random.pick(released);
  const [change, expected] = step.random.pick([
    [null, "is missing"],
    [Buffer.from(bytes).fill("x", 0, 1), "differs from the catalog"],
  ] as const);
  step.note(`somebody ${change ? "damages" : "removes"} ${path} on the mirror`);
  step.world.changeMirror(path, change);
  const found = await verify(step);
  if (JSON.stringify(found) !== JSON.stringify([{ path, problem: expected }]))
    throw new Violation("check of the mirror is wrong", `${path} ${expected}, not ${JSON.stringify(found)}`);
  await step.world.passAtRest(LISTED_MS);
  await new Promise((resolve) => setTimeout(resolve, 5_000));
  await untilCurrent(step);
  await checkContents(step);
}

async function checkContents(step: Step): Promise<void> {
  const contents = seeMirror(step);
  const releases = releasesOf(step);
  const hashes = new Set([...contents.values()].map(hashOf));
  for (const release of releases) {
    if (mustBeMirrored(release) && !contents.has(pathOf(release)))
      throw new Violation("file is not on the mirror", pathOf(release));
    const builds = release.product.releases.filter((one) => one === release || one.isSameBuild(release));
    if (!builds.some(mayBeMirrored) && hashes.has(release.sha256))
      throw new Violation("withdrawn file is on the mirror", release.id);
  }
  for (const [path, bytes] of contents) {
    const [product] = path.split("/");
    if (!releases.some((one) => one.product.name === product))
      throw new Violation("withdrawn file is on the mirror", path);
    if (path.split("/").length !== 3) continue;
    for (const [, version, platform] of bytes.toString().matchAll(OFFERED)) {
      const named = releases.filter(
        (one) => one.product.name === product && one.version === version && one.platform === platform,
      );
      if (!named.some(mayBeMirrored))
        throw new Violation("withdrawn release is on the mirror", `${version} for ${platform} by ${path}`);
    }
  }
}

export const mirrorOperations: Operation[] = [
  {
    name: "look at the mirror",
    weight: 1,
    start: (step) => {
      if (step.world.mirror === null) return null;
      seeMirror(step);
      return Promise.resolve();
    },
  },
];
