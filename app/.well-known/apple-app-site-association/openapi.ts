import type { OperationDetails } from "@/scripts/openapi/operation";

export const GET: OperationDetails = {
  operationId: "getAppleAppSiteAssociation",
  description:
    "The apps in `AUTH_PASSKEY_APPLE_APPS`, as Apple's systems read them before an app may use a passkey of this domain. 404 if there are none.",
  responses: {
    200: {
      description: "The apps.",
      examples: { "One app": { webcredentials: { apps: ["ABCDE12345.com.example.app"] } } },
    },
  },
};
