import { SELECTION } from "../../fixtures/catalog";
import type { Bench } from "../../lib/bench";
import { homeport } from "../../lib/candidates";
import { compare } from "../../lib/compare";
import { compareGet } from "../../lib/compare-get";
import { byThroughput, type Section } from "../../lib/table";
import { wrk } from "../../lib/wrk";

/** A desktop client's update check. */
export const UPDATE_CHECK = `/api/version?${SELECTION}&current=1.0.0`;

/** A desktop client's update check in a catalog of 5,000 releases. */
export const version = (bench: Bench): Promise<Section> => compareGet(bench, { title: "version", path: UPDATE_CHECK });

/** 304 compared with 200: a conditional request must not be slower. */
export async function versionNotModified(bench: Bench): Promise<Section> {
  const known = homeport(bench, async ({ url }) => {
    const etag = (await fetch(url + UPDATE_CHECK)).headers.get("etag") ?? "";
    return (seconds) => wrk(url + UPDATE_CHECK, seconds, { headers: { "if-none-match": etag } });
  });
  const unknown = homeport(
    bench,
    async ({ url }) =>
      (seconds) =>
        wrk(url + UPDATE_CHECK, seconds),
  );
  const results = await compare([
    { ...known, name: "Homeport, 304" },
    { ...unknown, name: "Homeport, 200" },
  ]);
  return { title: "version, 304 compared with 200", rows: byThroughput(results, { "Homeport, 200": 1 }), results };
}
