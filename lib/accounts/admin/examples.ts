/** An account as operators see it. */
export const ACCOUNT = {
  id: "019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b11",
  email: "ann@example.com",
  emailVerifiedAt: "2026-11-20T09:05:00.000Z",
  name: "Ann Example",
  role: "user",
  disabledAt: null,
  createdAt: "2026-11-20T09:00:00.000Z",
};

export const REASON = "Asked for by email, ticket 4711";

export const EVENT = {
  id: "019aa5f4-1b2c-7d3e-8f40-5a6b7c8d9e0f",
  type: "role_changed",
  at: "2026-11-22T14:03:00.000Z",
  actor: "account:019aa5f0-0a1b-7c2d-8e3f-405162738495",
  target: null,
  network: "203.0.113.0/24",
  userAgent: "Mozilla/5.0",
  details: { from: "user", to: "support", reason: REASON },
};
