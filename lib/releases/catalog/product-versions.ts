import type { SemVer } from "semver";
import type { Release } from "../schema";
import { compareSystemVersions } from "../system-version";

/** A published build and the version it is of. */
type Build = { buildVersion: string; version: SemVer };

/** What the releases of one product on one platform say about versions, yanked ones included. */
export type ProductVersions = {
  /** The distinct versions that releases require first, in ascending order. */
  required: readonly SemVer[];
  /** The releases with a build version, in ascending order of it. */
  builds: readonly Build[];
};

type Product = Pick<Release, "platform" | "product">;

const NO_VERSIONS: ProductVersions = { required: [], builds: [] };

/** Collects the versions by product and platform. Read by `productVersions`. */
export function indexProductVersions(releases: readonly Release[]): Map<string, ProductVersions> {
  const byProduct = new Map<string, Release[]>();
  for (const release of releases) {
    const own = byProduct.get(keyOf(release));
    if (own) own.push(release);
    else byProduct.set(keyOf(release), [release]);
  }
  return new Map([...byProduct].map(([key, own]) => [key, collect(own)]));
}

/** The versions of one product on one platform. */
export function productVersions(index: ReadonlyMap<string, ProductVersions>, product: KeyOf): ProductVersions {
  return index.get(keyOf(product)) ?? NO_VERSIONS;
}

type KeyOf = Record<keyof Product, string>;

function keyOf({ platform, product }: KeyOf): string {
  return `${platform}/${product}`;
}

function collect(releases: readonly Release[]): ProductVersions {
  const required = releases.flatMap(({ requiresFrom }) => requiresFrom ?? []).sort((a, b) => a.compare(b));
  const builds = releases.flatMap(({ buildVersion, version }) =>
    buildVersion === null ? [] : { buildVersion, version },
  );
  return {
    required: required.filter((version, i) => i === 0 || version.compare(required[i - 1] ?? "") !== 0),
    builds: builds.sort((a, b) => compareSystemVersions(a.buildVersion, b.buildVersion)),
  };
}
