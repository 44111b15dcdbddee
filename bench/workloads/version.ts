import { SELECTION } from "../fixtures/catalog";
import type { Bench } from "../lib/bench";
import { homeport } from "../lib/contenders";
import { massGet } from "../lib/mass-get";
import { race } from "../lib/race";
import { byThroughput, type Section } from "../lib/table";
import { wrk } from "../lib/wrk";

const path = `/api/version?${SELECTION}&current=1.0.0`;

/** A desktop client's update check, with a catalog of 5,000 releases. */
export const version = (bench: Bench) => massGet(bench, { title: "version", path });

/** The same by a client that knows the answer. */
export const versionUnchanged = (bench: Bench) =>
  massGet(bench, { title: "version, If-None-Match", path, conditional: true });

/** The two against each other: whoever knows the answer must not wait longer for hearing so. */
export async function versionKnownOrNot(bench: Bench): Promise<Section> {
  const known = homeport(bench, async ({ url }) => {
    const etag = (await fetch(url + path)).headers.get("etag") ?? "";
    return (seconds) => wrk(url + path, seconds, { "if-none-match": etag });
  });
  const unknown = homeport(
    bench,
    async ({ url }) =>
      (seconds) =>
        wrk(url + path, seconds),
  );
  const results = await race([
    { ...known, name: "Homeport, 304" },
    { ...unknown, name: "Homeport, 200" },
  ]);
  return { title: "version, 304 against 200", rows: byThroughput(results, { "Homeport, 200": 1 }), results };
}
