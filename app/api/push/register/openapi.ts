import { ACTIVE, BROWSER, CHALLENGE, DEVICE, REGISTRATION, SUBSCRIPTION } from "@/app/api/push/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "registerDevice",
  description:
    'Call this operation at every launch. A new device, or one with a changed token or account, gets a challenge. Its nonce is sent only through APNs; return it here with App Attest evidence over the challenge and the nonce. A pending device receives no notifications. An active device whose installation registers another token keeps its verified token until the new one is verified. A token belongs to the account that verified it last. A browser registers its `PushSubscription` with `platform: "web"`, and is active at once.',
  requests: {
    "At launch": REGISTRATION,
    "A browser": SUBSCRIPTION,
    "With evidence": {
      ...REGISTRATION,
      evidence: {
        type: "app_attest",
        challengeId: CHALLENGE.id,
        pushNonce: "Vb3nK8qRz5tYw1xLc7sDf0gHj2mP4aEuIoQ6rTyUiZk",
        keyId: "n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg=",
        assertion: "omlzaWduYXR1cmVYRzBFAiEA",
      },
    },
  },
  responses: {
    200: {
      description: "The device is active and receives the account's notifications.",
      examples: { Active: { device: ACTIVE }, "A browser": { device: BROWSER } },
    },
    202: {
      description: "The device is pending. The nonce was sent through APNs.",
      examples: {
        Challenged: { device: DEVICE, challenge: CHALLENGE },
        "After APNs rejected a challenge": {
          device: { ...DEVICE, pendingReason: "BadDeviceToken" },
          challenge: CHALLENGE,
        },
      },
    },
  },
};
