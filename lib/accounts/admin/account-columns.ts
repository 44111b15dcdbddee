/** The columns of `AccountSummary`. */
export const SUMMARY = {
  id: true,
  email: true,
  emailVerifiedAt: true,
  name: true,
  role: true,
  disabledAt: true,
  createdAt: true,
} as const;
