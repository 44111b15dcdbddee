import { OAUTH_ERROR_EXAMPLES, OAUTH_ERRORS } from "@/app/api/auth/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "startDeviceAuthorization",
  description:
    "For a device without a browser, such as a command line or a television (RFC 8628). Show `user_code` and `verification_uri`, or `verification_uri_complete` as a link or QR code, then ask the token endpoint every `interval` seconds.",
  requests: { "A command line": { client_id: "cli" } },
  responses: {
    200: {
      description: "The codes.",
      examples: {
        "A command line": {
          device_code: "Hf4FZ_jLN2Jf3VCwqcxF6sWbRgQmcmXsv53xU1XtBgk",
          user_code: "WDJB-MJHT",
          verification_uri: "https://api.example.com/device",
          verification_uri_complete: "https://api.example.com/device?user_code=WDJB-MJHT",
          expires_in: 600,
          interval: 5,
        },
      },
    },
    400: { description: OAUTH_ERRORS, examples: OAUTH_ERROR_EXAMPLES },
  },
};
