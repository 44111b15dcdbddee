import { compareBuild } from "semver";
import type { Snapshot } from "../../catalog/snapshot";
import { type Platform, parsePlatform } from "../../platforms";
import { formatVersion, type Release } from "../../schema";
import type { AdoptionReport } from "../adoption";
import type { ClientGroup } from "./compare-offers";

/** The versions of the catalog that are included although no client was counted with them. */
const MAX_VERSIONS = 5;

type Counted = Pick<
  AdoptionReport["versions"][number],
  "product" | "platform" | "architecture" | "channel" | "version" | "clients"
>;

/**
 * The clients that a change of these products may touch: those that were counted, and those that the catalog's newest
 * versions and new installations stand for.
 */
export function groupClients(
  snapshots: readonly Snapshot[],
  products: ReadonlySet<string>,
  counted: readonly Counted[],
): ClientGroup[] {
  const groups = new Map<string, ClientGroup>();
  const add = (group: ClientGroup) => {
    const key = [group.product, group.platform, group.architecture, group.channel, group.installed].join(" ");
    groups.set(key, { ...group, clients: group.clients + (groups.get(key)?.clients ?? 0) });
  };
  const releases = snapshots.flatMap((snapshot) => snapshot.releases).filter(({ product }) => products.has(product));
  for (const { platform: name, architecture, channel, version, clients, product } of counted) {
    const platform = parsePlatform(name);
    if (!platform || version === "other") continue;
    const target = { product, platform, channel };
    const installed = version === "unknown" ? null : version;
    add({ ...target, architecture: resolveArchitecture(releases, target, architecture), installed, clients });
  }
  for (const target of targetsOf(releases)) {
    add({ ...target, installed: null, clients: 0 });
    for (const installed of newestVersions(releases, target)) add({ ...target, installed, clients: 0 });
  }
  return [...groups.values()];
}

type Target = { product: string; platform: Platform; architecture: string; channel: string };

function targetsOf(releases: readonly Release[]): Target[] {
  const targets = new Map<string, Target>();
  for (const { product, platform, architecture, channel } of releases) {
    targets.set([product, platform, architecture, channel].join(" "), { product, platform, architecture, channel });
  }
  return [...targets.values()];
}

function newestVersions(releases: readonly Release[], { product, platform, architecture }: Target): string[] {
  const own = releases.filter(
    (one) => one.product === product && one.platform === platform && one.architecture === architecture,
  );
  const newest = own
    .toSorted((a, b) => compareBuild(b.version, a.version))
    .map(({ version }) => formatVersion(version));
  return [...new Set(newest)].slice(0, MAX_VERSIONS);
}

/** Feeds with several architectures do not contain the client's architecture. The most common one is assumed. */
function resolveArchitecture(
  releases: readonly Release[],
  { product, platform }: Pick<Target, "product" | "platform">,
  architecture: string,
): string {
  if (architecture !== "unknown") return architecture;
  const own = releases.filter((one) => one.product === product && one.platform === platform);
  const known = ["universal", "x64"].find((name) => own.some((one) => one.architecture === name));
  return known ?? own[0]?.architecture ?? architecture;
}
