/** Where the service under test is, as its clients see it. */
export const BASE_URL = "http://localhost:3000";
