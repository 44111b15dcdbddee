import type { OperationDetails } from "@/scripts/openapi/operation";

const FINGERPRINT = Array.from({ length: 32 }, (_, index) => (index + 160).toString(16).toUpperCase()).join(":");

export const GET: OperationDetails = {
  operationId: "getDigitalAssetLinks",
  description:
    "The apps in `AUTH_PASSKEY_ANDROID_APPS`, as Android reads them before an app may use a passkey of this domain. 404 if there are none.",
  responses: {
    200: {
      description: "The apps.",
      examples: {
        "One app": [
          {
            relation: ["delegate_permission/common.handle_all_urls", "delegate_permission/common.get_login_creds"],
            target: {
              namespace: "android_app",
              package_name: "com.example.app",
              sha256_cert_fingerprints: [FINGERPRINT],
            },
          },
        ],
      },
    },
  },
};
