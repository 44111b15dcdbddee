/** The roles of operators in words. */
export const OPERATOR_ROLES = {
  support: "Support: views customers and queues, ends sessions",
  admin: "Admin: may do everything",
};
