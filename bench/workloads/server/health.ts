import type { Bench } from "../../lib/bench";
import { compareGet } from "../../lib/compare-get";
import type { Section } from "../../lib/table";

/** A load balancer's probe. */
export const health = (bench: Bench): Promise<Section> => compareGet(bench, { title: "health", path: "/api/health" });
