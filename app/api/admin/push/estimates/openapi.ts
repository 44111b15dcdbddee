import type { OperationDetails } from "@/scripts/openapi/operation";

export const GET: OperationDetails = {
  operationId: "estimateAnnouncement",
  description:
    "How many devices an announcement would be for, and how long it would take. Up to 100,000 devices are counted; of more, the database's statistics say about how many there are.",
  responses: {
    200: {
      description: "The estimate.",
      examples: { "A million devices": { devices: 1000000, isExact: false, perSecond: 1000, seconds: 1000 } },
    },
  },
};
