import path from "node:path";
import { Readable } from "node:stream";
import pLimit from "p-limit";
import type { Logger } from "pino";
import { z } from "zod";
import { readDatabaseTime } from "../../platform/db/clock";
import type { Prisma, PrismaClient } from "../../platform/db/generated/client";
import { newId } from "../../platform/db/ids";
import { makeFolder, moveDurably, readJsonFile, removeOldFiles, writeChunks } from "../../platform/files/durable";
import type { Catalog } from "../catalog/catalog";
import { indexReleases, type Snapshot } from "../catalog/snapshot";
import type { Admission } from "../publishing/schema";
import { releaseFiles, removeStoredFiles } from "../release-files";
import type { Artifact, Release } from "../schema";
import { isAdmitted } from "./admissions";
import { buildOf, fileKeyOf, isInForce, termsAt } from "./terms";

/** The policies that this process applies to its catalog. */
export type Policies = {
  /** Reads the policies. @throws the database's error; the last known ones then stay in use */
  refresh: () => Promise<void>;
  /** Whether a release is offered; null if its product has no policy. */
  admissionOf: (release: Release) => Admission | null;
};

const Files = z.record(z.string(), z.array(z.string()));
/** The files that are admitted and those that wait for approvals, by build, of each product with a policy. */
const Mirror = z.strictObject({
  schemaVersion: z.literal(1),
  products: z.record(z.string(), z.strictObject({ admitted: Files, pending: Files })),
});
type Products = z.infer<typeof Mirror>["products"];

type Deps = {
  catalog: Catalog;
  config: { DATA_DIR: string };
  db: PrismaClient;
  dbNow: () => Prisma.Sql;
  log: Pick<Logger, "info" | "warn" | "error">;
};

/** Two copies: of a damaged one, the other says what was offered. */
const MIRRORS = ["release-policies.json", "release-policies.copy.json"] as const;
const MAX_LOGGED_EXAMPLES = 5;

/**
 * A catalog without the files that a product's policy has not admitted. The policies are of the database, mirrored to
 * DATA_DIR so that a process can start without it. If neither can be read, no file is offered until one can.
 */
export async function openGuardedCatalog(deps: Deps): Promise<{ catalog: Catalog; policies: Policies }> {
  const { catalog, log } = deps;
  let products = await readMirrors(deps);
  let written = products === null ? "" : JSON.stringify(products);
  let known = "";
  let guarded: (Guarded & { base: Snapshot; products: Products | null }) | null = null;
  let reported = "";
  const current = (): Snapshot | null => {
    const base = catalog.current();
    if (!base || (products !== null && Object.keys(products).length === 0)) return base;
    if (guarded?.base !== base || guarded.products !== products) {
      guarded = { base, products, ...withoutUnadmitted(base, products) };
    }
    return guarded.snapshot;
  };
  /** Logs once what is left out. While a release is being removed, its admission goes first: so not as soon as it is left out. */
  const report = () => {
    const refused = current() === guarded?.snapshot ? guarded.refused : [];
    if (refused.join() === reported) return;
    reported = refused.join();
    if (refused.length === 0) return;
    const examples = refused.slice(0, MAX_LOGGED_EXAMPLES);
    log.error(
      { releases: refused.length, examples },
      "releases left out of the catalog: their policy did not admit them",
    );
  };
  const inTurn = pLimit(1); // or an older answer could replace a newer one
  const reload = async () => {
    const state = await readState(deps);
    if (state.text !== known) {
      products = await readProducts(deps, state);
      known = state.text;
    }
    const text = JSON.stringify(products);
    if (text === written) return;
    await writeMirrors(deps, products ?? {});
    written = text;
    log.info({ products: Object.keys(products ?? {}) }, "release policies loaded");
  };
  const refresh = () => inTurn(reload);
  const refreshAll = async () => {
    await refresh().catch((error) =>
      log.warn({ err: error }, "release policies could not be read: the last known ones stay"),
    );
    await catalog.refresh();
    report();
  };
  return {
    catalog: { ...catalog, current, refresh: refreshAll },
    policies: { refresh: () => refresh().finally(report), admissionOf: (release) => admissionOf(release, products) },
  };
}

/** null: there are mirrors, and none can be read. */
async function readMirrors({ config, log }: Pick<Deps, "config" | "log">): Promise<Products | null> {
  const failures: unknown[] = [];
  for (const name of MIRRORS) {
    try {
      const mirror = await readJsonFile(mirrorFile(config, name), Mirror);
      if (mirror) return mirror.products;
    } catch (error) {
      failures.push(error);
      log.error({ err: error }, "release policies in DATA_DIR cannot be read");
    }
  }
  return failures.length === 0 ? {} : null;
}

async function writeMirrors({ config }: Pick<Deps, "config">, products: Products): Promise<void> {
  const text = JSON.stringify({ schemaVersion: 1, products } satisfies z.infer<typeof Mirror>);
  await makeFolder(config.DATA_DIR);
  await removeOldFiles(config.DATA_DIR, /^release-policies\..*\.tmp$/);
  for (const name of MIRRORS) {
    const file = mirrorFile(config, name);
    const temporary = `${file}.${newId()}.tmp`; // another process may write at the same time
    await writeChunks(temporary, Readable.from([Buffer.from(text)]));
    await moveDurably(temporary, file);
  }
}

const mirrorFile = ({ DATA_DIR }: Deps["config"], name: string) =>
  path.resolve(/* turbopackIgnore: true */ DATA_DIR, name);

/** The terms in force now, and a text that changes with them and with what they have admitted. */
async function readState({ db, dbNow }: Pick<Deps, "db" | "dbNow">) {
  const rows = await db.releasePolicy.findMany({ orderBy: { product: "asc" } });
  const now = rows.length === 0 ? new Date(0) : await readDatabaseTime({ db, dbNow });
  const terms = new Map(
    rows.flatMap((row) => {
      const own = termsAt(row, now);
      return isInForce(own) ? [[row.product, own] as const] : [];
    }),
  );
  const revisions = rows.map(({ product, revision }) => [product, revision]);
  return { terms, text: JSON.stringify([revisions, [...terms]]) };
}

async function readProducts({ db }: Pick<Deps, "db">, { terms }: Awaited<ReturnType<typeof readState>>) {
  const names = [...terms.keys()];
  const rows = await db.releaseAdmission.findMany({ where: { product: { in: names } }, orderBy: { id: "asc" } });
  const products: Products = {};
  for (const [product, own] of terms) {
    const files = { admitted: {} as z.infer<typeof Files>, pending: {} as z.infer<typeof Files> };
    for (const row of rows.filter((one) => one.product === product)) {
      const list = files[isAdmitted(row, own) ? "admitted" : "pending"];
      list[row.build] = [...(list[row.build] ?? []), ...row.files];
    }
    products[product] = files;
  }
  return products;
}

function ownOf(products: Products, product: string): Products[string] | null {
  return (Object.hasOwn(products, product) && products[product]) || null;
}

/** What is offered, and the ids of the releases that are not because of a file that was neither admitted nor waits for it. */
type Guarded = { snapshot: Snapshot; refused: string[] };

/** `products` null: nothing is known, so nothing is offered. */
function withoutUnadmitted({ root, releases }: Snapshot, products: Products | null): Guarded {
  const refused: string[] = [];
  const guarded = releases.map((release) => {
    const own = products && ownOf(products, release.product);
    if (products && !own) return release;
    if (products && admissionOf(release, products) === "refused") refused.push(release.id);
    const admitted = new Set(own?.admitted[buildOf(release)]);
    const { others, deltas, ...kinds } = release.artifacts;
    const copy = { ...release, artifacts: { ...kinds, others: [...others], deltas: [...deltas] } };
    removeStoredFiles(copy, (file) => "fileName" in file && !admitted.has(fileKeyOf(file as Artifact)));
    return copy;
  });
  return { snapshot: indexReleases(root, guarded), refused };
}

function admissionOf(release: Release, products: Products | null): Admission | null {
  const own = products && ownOf(products, release.product);
  if (!own) return products ? null : "refused";
  const build = buildOf(release);
  const isIn = (keys: readonly string[]) => releaseFiles(release).every((file) => keys.includes(fileKeyOf(file)));
  const [admitted, pending] = [own.admitted[build] ?? [], own.pending[build] ?? []];
  return isIn(admitted) ? "admitted" : isIn([...admitted, ...pending]) ? "pending" : "refused";
}
