import type { OperationDetails } from "@/scripts/openapi/operation";

const TOTALS = { checks: 11_840, clients: 1_020, downloadsStarted: 310, downloadsFinished: 302 };

export const GET: OperationDetails = {
  operationId: "getAdoption",
  description:
    "Counts update checks, distinct clients and downloads by UTC day, newest day first. Distinct clients are estimated within 2 percent; a client is known by its id for staged rollouts, or by its network if it sends none. The counts are at most a minute old.",
  responses: {
    200: {
      description: "The counts.",
      examples: {
        "One version": {
          from: "2026-11-22",
          to: "2026-11-22",
          products: [{ day: "2026-11-22", product: "core", ...TOTALS }],
          versions: [
            {
              day: "2026-11-22",
              product: "core",
              platform: "windows",
              architecture: "x64",
              channel: "stable",
              version: "1.2.0",
              ...TOTALS,
              offers: 96,
              offeredClients: 41,
            },
          ],
        },
      },
    },
  },
};
