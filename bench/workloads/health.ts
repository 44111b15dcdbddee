import type { Bench } from "../lib/bench";
import { massGet } from "../lib/mass-get";

/** The probe of a load balancer. */
export const health = (bench: Bench) => massGet(bench, { title: "health", path: "/api/health" });
