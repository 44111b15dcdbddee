import type { Details } from "../operation";

const TOKEN = "740f4707bebcf74f9b7c25d48e3358945f6aa01da5ddb387462c7eaf61bb78ad";
const DEVICE = {
  id: "0198d2f5-71aa-7e02-b3c4-6a7d8e9f0a1b",
  status: "pending",
  environment: "production",
  bundleId: "com.example.homeport",
  name: "Ann's iPhone",
  model: "iPhone18,1",
  osVersion: "26.1",
  appVersion: "2.3.0",
  locale: "en-GB",
  tokenSuffix: TOKEN.slice(-4),
  createdAt: "2026-11-20T09:00:00.000Z",
  verifiedAt: null,
  lastSeenAt: "2026-11-20T09:00:00.000Z",
  lastDeliveredAt: null,
  invalidReason: null,
  pendingReason: null,
  current: true,
};
const ACTIVE = { ...DEVICE, status: "active", verifiedAt: "2026-11-20T09:00:05.000Z" };
const CHALLENGE = {
  id: "0198d2f5-71b3-7a40-9e6d-0c1b2a394857",
  value: "mJ8p0wT3sK5vYxQ2rN6bLdF9gHcZ1aUeXoI7tRyWuPs",
  expiresAt: "2026-11-20T09:15:00.000Z",
};
const REGISTRATION = {
  token: TOKEN,
  installationId: "2f1c9e0a-5b7d-4c3e-8a6f-1d2e3f4a5b6c",
  device: { name: "Ann's iPhone", model: "iPhone18,1", osVersion: "26.1", appVersion: "2.3.0", locale: "en-GB" },
};

export const PUSH: Record<string, Details> = {
  "POST /api/push/register": {
    operationId: "registerDevice",
    description:
      "Call it at every launch. A device that is new, or has moved, gets a challenge: its nonce goes out through APNs alone, and comes back here with App Attest evidence over both. Until then nothing is pushed to the device, and an active device whose installation registers another token keeps the one that it has proved. A token belongs to whoever proved it last.",
    requests: {
      "At a launch": REGISTRATION,
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
        description: "Active: what is pushed to the account comes here.",
        examples: { Active: { device: ACTIVE } },
      },
      202: {
        description: "Pending: the nonce is on its way through APNs.",
        examples: {
          Challenged: { device: DEVICE, challenge: CHALLENGE },
          "After a challenge that APNs refused": {
            device: { ...DEVICE, pendingReason: "BadDeviceToken" },
            challenge: CHALLENGE,
          },
        },
      },
    },
  },
  "GET /api/push/devices": {
    operationId: "listDevices",
    description: "Newest first. `current`: this very session registered it.",
    responses: {
      200: {
        description: "The account's devices.",
        examples: { "One device": { devices: [ACTIVE] }, None: { devices: [] } },
      },
    },
  },
  "DELETE /api/push/devices/{deviceId}": {
    operationId: "removeDevice",
    description: "Somebody else's device is as little there as one that does not exist.",
    responses: { 204: { description: "Removed. Nothing is pushed to it any more." } },
  },
};
