/** A release as the catalog has it. */
export const RELEASE = {
  id: "core-windows-x64-2.3.0",
  product: "core",
  platform: "windows",
  architecture: "x64",
  channel: "stable",
  version: "2.3.0",
  releasedAt: "2026-11-20T09:00:00.000Z",
  rollout: 20,
  critical: false,
  rollback: false,
  yanked: false,
  sample: false,
  artifacts: {
    installer: { fileName: "Acme-2.3.0-x64.exe", sizeBytes: 104857600 },
    others: [],
    deltas: [],
  },
};
