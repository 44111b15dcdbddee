import { GroupPage } from "../reference/group-page";

export const metadata = { title: "Routes of next-auth" };
export const isStatic = true;

export default function Page() {
  return <GroupPage slug="next-auth" />;
}
