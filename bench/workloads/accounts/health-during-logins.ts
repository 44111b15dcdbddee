import { homeportLogins, parseLogins } from "../../fixtures/logins";
import type { Bench } from "../../lib/bench";
import { homeport, NAMES, parsePeer } from "../../lib/candidates";
import { compareProbed } from "../../lib/probes";
import { atMost, type Section } from "../../lib/table";

/** The maximum of Homeport's p99 divided by Parse Server's. */
const MAX_RATIO = 0.2;
const PARSE = { health: "/parse/health", requests: parseLogins };

/** Health probes during 32 concurrent log-ins. */
export const healthDuringLogins = (bench: Bench): Promise<Section> =>
  compareProbed(
    { title: "health during 32 log-ins: p50 and p99 of health", unit: "logins/s" },
    (prepare) => [
      homeport(bench, prepare({ candidate: NAMES.homeport, health: "/api/health", requests: homeportLogins })),
      ...parsePeer(bench, prepare({ ...PARSE, candidate: NAMES.parseNative })),
      ...parsePeer(bench, prepare({ ...PARSE, candidate: NAMES.parseJs }), NAMES.parseJs),
    ],
    (ratio) => ({ ...atMost(ratio, MAX_RATIO), target: `p99 ≤ ${MAX_RATIO}` }),
  );
