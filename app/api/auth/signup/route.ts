// The second name of the same route: older clients call it so.
export { DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT } from "@/app/api/auth/register/route";
