import type { Tx } from "../../context";
import { type Precondition, stateOf } from "../../platform/precondition";
import { type RolloutState, toRolloutState } from "../rollouts/list-rollouts";
import type { Release } from "../schema";
import { listReleases, type ReleaseDocument } from "./list";

/** Requires that releases are as the operator has seen them. */
export type ReleasePrecondition = Precondition & {
  /** Only these fields count. Default: all of the product, because its other releases decide who gets what, too. */
  fields?: readonly (keyof ReleaseDocument)[];
};

/** Identifies what operators see of the products of some releases: what is served, and open schedules. */
export async function readCatalogState(
  db: Pick<Tx, "rolloutSchedule">,
  releases: readonly Release[],
  ids: readonly string[],
): Promise<string> {
  const products = new Set(releases.flatMap(({ id, product }) => (ids.includes(id) ? [product] : [])));
  const rows = await db.rolloutSchedule.findMany({ where: { product: { in: [...products] } }, orderBy: { id: "asc" } });
  const schedules = rows.map((row) => ({ ...toRolloutState(row), catalogRollout: row.catalogRollout }));
  const documents = listReleases(releases.filter(({ product }) => products.has(product)));
  const open = schedules.filter(({ state }) => state !== "completed");
  return stateOf({
    releases: documents.map((release) => ({ ...release, rollout: servedRollout(release, schedules) })),
    schedules: open.map(({ nextStepAt: _, ...schedule }) => schedule),
  });
}

type Schedule = Pick<RolloutState, "releaseIds" | "rollout"> & { catalogRollout: number };

/** The percentage that clients are offered: of the newest schedule that applies, else of the catalog. */
function servedRollout({ id, rollout }: Pick<Release, "id" | "rollout">, schedules: readonly Schedule[]): number {
  const schedule = schedules.findLast(({ releaseIds }) => releaseIds.includes(id));
  return schedule?.catalogRollout === rollout ? schedule.rollout : rollout;
}

export const NOTES_FIELDS = ["notes", "notesUrl"] as const;

export function stateOfFields(
  releases: readonly ReleaseDocument[],
  fields: readonly (keyof ReleaseDocument)[],
): string {
  return stateOf(releases.map((release) => [release.id, ...fields.map((name) => release[name])]));
}

/** Checks a precondition in the transaction of the change, which no other change can overtake. */
export async function assertSeen(
  tx: Tx,
  releases: readonly Release[],
  ids: readonly string[],
  precondition: ReleasePrecondition | undefined,
): Promise<void> {
  if (!precondition) return;
  const { fields, check } = precondition;
  if (fields) return check(stateOfFields(listReleases(releases.filter(({ id }) => ids.includes(id))), fields));
  await tx.$executeRaw`SELECT 1 FROM "RolloutSchedule" ORDER BY "id" FOR UPDATE`;
  check(await readCatalogState(tx, releases, ids));
}
