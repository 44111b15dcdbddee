/** The roles of operators in words. */
export const OPERATOR_ROLES = {
  support: "Support: reads, ends sessions",
  admin: "Admin: may do everything",
};
