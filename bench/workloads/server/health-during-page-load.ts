import type { Bench } from "../../lib/bench";
import { homeport, NAMES, nextStart } from "../../lib/candidates";
import type { RequestSpec } from "../../lib/load";
import { compareProbed } from "../../lib/probes";
import type { Section } from "../../lib/table";

/** Every page for a signed-out visitor, and the page for unknown paths. */
const SHOWN = "/ /sign-in /register /forgot /reset /verify /download /docs /docs/errors /deleted".split(" ");
const PAGES = [
  ...SHOWN.map((path) => ({ path, expectedStatus: 200 })),
  ...["/account", "/account/delete"].map((path) => ({ path, expectedStatus: 307 })),
  { path: "/nothing", expectedStatus: 404 },
];

/** The pages in turn. */
async function pages(): Promise<() => RequestSpec> {
  const specs = PAGES.map((page): RequestSpec => ({ ...page, method: "GET", headers: { "accept-encoding": "gzip" } }));
  let requested = 0;
  return () => specs[requested++ % specs.length] as RequestSpec;
}

/** Health probes while 32 clients request pages. */
export const healthDuringPageLoad = (bench: Bench): Promise<Section> =>
  compareProbed({ title: "health during 32 page requests: p50 and p99 of health", unit: "pages/s" }, (prepare) => {
    const probed = { health: "/api/health", requests: pages };
    return [
      homeport(bench, prepare({ ...probed, candidate: NAMES.homeport })),
      ...nextStart(bench, prepare({ ...probed, candidate: NAMES.next })),
    ];
  });
