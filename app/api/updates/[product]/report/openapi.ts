import type { OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "reportUpdate",
  description:
    "Clients may report whether an update was installed, failed or was rolled back. A scheduled rollout halts when too many of the reports are failures. Reports need no account and are not linked to a client; the limits apply to each process.",
  requests: {
    Installed: { version: "1.2.0", from: "1.1.0", outcome: "installed", platform: "windows", architecture: "x64" },
    Failed: {
      version: "1.2.0",
      from: "1.1.0",
      outcome: "failed",
      code: "ERR_SIGNATURE",
      platform: "macos",
      architecture: "arm64",
    },
  },
  responses: { 204: { description: "The report is counted." } },
};
