import { Violation } from "../model/fact";
import { Release } from "../model/releases";
import type { Operation, Step } from "./operation";

const PLATFORMS = [
  "platform=macos&product=core&architecture=universal",
  "platform=windows&product=core&architecture=x64",
];

/** Learns which releases there are: those of the sample catalog. */
export async function learnReleases(step: Step): Promise<void> {
  const answer = await step.send("list releases", "GET", "/api/admin/releases", { operator: "sim" });
  for (const { id, yanked } of answer.body?.releases ?? []) {
    const release = new Release(id);
    release.isYanked.set(Boolean(yanked));
    step.model.releases.set(id, release);
  }
}

async function seeUpdates(step: Step, platform: string): Promise<void> {
  const answer = await step.send(`check for updates, ${platform}`, "GET", `/api/version?${platform}`);
  if (answer.outcome !== "done") return;
  const release = step.model.releases.get(answer.body?.releaseId ?? answer.body?.id);
  if (release?.isYanked.is(true) && step.nowMs >= release.changedAtMs + step.model.followMs)
    throw new Violation("yanked release is offered", release.id);
}

export const releaseOperations: Operation[] = [
  { name: "check for updates", weight: 2, start: (step) => seeUpdates(step, step.random.pick(PLATFORMS)) },
  {
    name: "yank a release",
    weight: 0.7,
    start: (step) => {
      const { model, random } = step;
      const release = random.pick([...model.releases.values()]);
      if (!release || release.isBusy) return null;
      return (async () => {
        release.isBusy = true;
        const yanked = random.chance(0.5);
        const isSame = release.isYanked.is(yanked);
        release.isYanked.maySet(yanked);
        const audit = model.willAudit("release_changed");
        const label = `${yanked ? "yank" : "offer"} ${release.id}`;
        const answer = await step.send(label, "PATCH", `/api/admin/releases/${release.id}`, {
          operator: "sim",
          json: { yanked },
        });
        if (answer.outcome === "done") {
          if (isSame) audit.refused();
          else if (!release.isUnsure) audit.done();
          release.isYanked.set(yanked);
          release.changedAtMs = step.nowMs;
          release.isUnsure = false;
        } else if (answer.outcome === "unknown") release.isUnsure = true;
        else {
          audit.refused();
          release.isYanked.rule(yanked, isSame);
        }
        release.isBusy = false;
      })();
    },
  },
];

export async function checkReleases(step: Step): Promise<void> {
  for (const platform of PLATFORMS) await seeUpdates(step, platform);
  const answer = await step.send("list releases", "GET", "/api/admin/releases", { operator: "sim" });
  if (answer.outcome !== "done") return;
  for (const { id, yanked } of answer.body.releases) {
    const release = step.model.releases.get(id);
    if (release && !release.isYanked.canBe(Boolean(yanked)))
      throw new Violation("release is not as it was set", `${id} is ${yanked ? "" : "not "}yanked`);
  }
}
