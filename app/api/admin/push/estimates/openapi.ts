import { NOT_PUBLISHED } from "@/app/api/admin/push/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const GET: OperationDetails = {
  operationId: "estimateAnnouncement",
  description:
    "Estimates how many devices an announcement would be for, and how long it would take. Counts up to 100,000 devices; a larger number comes from the database's statistics. With `version`, `warnings` says if it is not published.",
  responses: {
    200: {
      description: "The estimate.",
      examples: {
        "A million devices": {
          devices: 1000000,
          isExact: false,
          perSecond: 1000,
          seconds: 1000,
          warnings: [NOT_PUBLISHED],
        },
      },
    },
  },
};

export const POST: OperationDetails = {
  operationId: "estimateAudience",
  description:
    "Estimates how many devices a message to an audience would be for, and how long it would take. With more than 100,000 active devices, `devices` is extrapolated from 100,000 of them. With `version`, `warnings` says if it is not published.",
  requests: {
    "Outdated iPhones": {
      audience: { platform: "ios", appVersion: { below: "2.0.0" }, lastSeen: { from: "2026-10-24T00:00:00Z" } },
      perSecond: 1000,
    },
  },
  responses: {
    200: {
      description: "The estimate.",
      examples: { "Some of many": { devices: 1200, isExact: true, perSecond: 1000, seconds: 2, warnings: [] } },
    },
  },
};
