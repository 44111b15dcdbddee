import type { SemVer } from "semver";
import { formatVersion, type Release } from "../schema";
import { addToSketch, createSketch, hashItem, mergeSketch, type Sketch } from "./hyperloglog";

/** What is counted together. `version`: the one that the client runs or downloads. */
export type AdoptionKey = {
  product: string;
  platform: string;
  /** The one that the client asks for. */
  architecture: string;
  channel: string;
  version: string;
};

/** An update check: what the client runs, and the newer version that it was offered. null: none was. */
export type UpdateCheck = { installed: AdoptionKey; offered: AdoptionKey | null };

/** The counts of one key on one UTC day. `clients` and `offeredClients` count distinct clients; null: none. */
export type AdoptionCounts = {
  /** Update checks by clients that run the version. */
  checks: number;
  clients: Sketch | null;
  /** Update checks that offered the version to clients with an older one. */
  offers: number;
  offeredClients: Sketch | null;
  downloadsStarted: number;
  downloadsFinished: number;
};

export type AdoptionEntry = { key: AdoptionKey; counts: AdoptionCounts };

/** `counts` null: nothing since the last `take`. */
type DayEntry = { key: AdoptionKey; counts: AdoptionCounts | null };

/** The version of clients that do not send theirs. */
const UNKNOWN_VERSION = "unknown";
/** What is counted beyond the limits below. */
const OTHER = "other";

/** Keys of a day whose version only a client names: anybody can invent versions. */
const MAX_CLAIMED_KEYS = 1_000;
/** All keys of a day. Each can have two sketches of 16 KiB until they are stored. */
const MAX_KEYS = 3_000;
const MAX_VERSION_LENGTH = 64;

/** Counts of one UTC day in memory. A key keeps its place for the day, also after `take`, so that the limits hold. */
export class DayCounts {
  readonly #salt: string;
  readonly #entries = new Map<string, DayEntry>();
  #claimedKeys = 0;
  #lastClaimed: DayEntry | undefined;
  #lastServed: DayEntry | undefined;

  /** @param salt secret, and another one each day */
  constructor(salt: string) {
    this.#salt = salt;
  }

  countCheck({ installed, offered }: UpdateCheck, clientId: string): void {
    const client = hashItem(this.#salt, clientId);
    const counts = this.#countsOf(installed, true);
    counts.checks += 1;
    counts.clients ??= createSketch();
    addToSketch(counts.clients, client);
    if (!offered) return;
    const offers = this.#countsOf(offered, false);
    offers.offers += 1;
    offers.offeredClients ??= createSketch();
    addToSketch(offers.offeredClients, client);
  }

  countDownload(key: AdoptionKey, event: "downloadsStarted" | "downloadsFinished"): void {
    this.#countsOf(key, false)[event] += 1;
  }

  /** Removes and returns what was counted since the last call. */
  take(): AdoptionEntry[] {
    const taken: AdoptionEntry[] = [];
    for (const entry of this.#entries.values()) {
      const { key, counts } = entry;
      if (!counts) continue;
      taken.push({ key, counts });
      entry.counts = null;
    }
    return taken;
  }

  /** Adds back counts that could not be stored. */
  restore(taken: readonly AdoptionEntry[]): void {
    for (const { key, counts } of taken) {
      const own = this.#countsOf(key, false);
      own.checks += counts.checks;
      own.offers += counts.offers;
      own.downloadsStarted += counts.downloadsStarted;
      own.downloadsFinished += counts.downloadsFinished;
      own.clients = union(own.clients, counts.clients);
      own.offeredClients = union(own.offeredClients, counts.offeredClients);
    }
  }

  /** `isClaimed`: only the client names the version. */
  #countsOf(key: AdoptionKey, isClaimed: boolean): AdoptionCounts {
    const last = isClaimed ? this.#lastClaimed : this.#lastServed;
    const entry =
      last && isSameKey(last.key, key)
        ? last
        : (this.#entries.get(keyText(key)) ?? this.#addEntry(this.#boundedKey(key, isClaimed), isClaimed));
    if (isClaimed) this.#lastClaimed = entry;
    else this.#lastServed = entry;
    entry.counts ??= noCounts();
    return entry.counts;
  }

  #addEntry({ product, platform, architecture, channel, version }: AdoptionKey, isClaimed: boolean) {
    const key = { product, platform, architecture, channel, version };
    const known = this.#entries.get(keyText(key));
    if (known) return known;
    if (isClaimed) this.#claimedKeys += 1;
    const entry: DayEntry = { key, counts: null };
    this.#entries.set(keyText(key), entry);
    return entry;
  }

  #boundedKey(key: AdoptionKey, isClaimed: boolean): AdoptionKey {
    if (this.#entries.size >= MAX_KEYS) {
      return { product: OTHER, platform: OTHER, architecture: OTHER, channel: OTHER, version: OTHER };
    }
    const isKept = !isClaimed || (this.#claimedKeys < MAX_CLAIMED_KEYS && key.version.length <= MAX_VERSION_LENGTH);
    return isKept ? key : { ...key, version: OTHER };
  }
}

/** A key as text. No part of it contains a space. */
export function keyText({ product, platform, architecture, channel, version }: AdoptionKey): string {
  return `${product} ${platform} ${architecture} ${channel} ${version}`;
}

function noCounts(): AdoptionCounts {
  return { checks: 0, clients: null, offers: 0, offeredClients: null, downloadsStarted: 0, downloadsFinished: 0 };
}

function union(a: Sketch | null, b: Sketch | null): Sketch | null {
  if (a && b) mergeSketch(a, b);
  return a ?? b;
}

function isSameKey(a: AdoptionKey, b: AdoptionKey): boolean {
  return (
    a.version === b.version &&
    a.product === b.product &&
    a.platform === b.platform &&
    a.architecture === b.architecture &&
    a.channel === b.channel
  );
}

/** The check of a client that asked for `target` and found `release`. `current` undefined: it does not send its version. */
export function toUpdateCheck(
  { product, platform, architecture, channel }: Omit<AdoptionKey, "version">,
  { version }: Release,
  current: SemVer | undefined,
): UpdateCheck {
  const target = { product, platform, architecture, channel };
  const isNewer = current !== undefined && version.compare(current) > 0;
  return {
    installed: { ...target, version: current ? formatVersion(current) : UNKNOWN_VERSION },
    offered: isNewer ? { ...target, version: formatVersion(version) } : null,
  };
}
