import type { OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "verifyRelease",
  description:
    "Hashes all files of a release again, those in the catalog's folder and in the object storage, and compares them with the catalog. It takes seconds per gigabyte. Files at other URLs are counted, not read: download them below `/api/updates/{product}/{channel}/` to verify them. A yanked release has no files to verify.",
  requests: { "One release": { releaseId: "core-windows-x64-1.2.0" } },
  responses: {
    200: {
      description: "What was verified.",
      examples: {
        Intact: {
          files: [{ kinds: ["installer"], location: "9f86d081884c7d65/Acme-1.2.0.exe 9f86d081884c", problem: null }],
          elsewhere: 0,
        },
      },
    },
  },
};
