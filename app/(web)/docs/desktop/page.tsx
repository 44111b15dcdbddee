import { GroupPage } from "../reference/group-page";

export const metadata = { title: "API for desktop apps" };
export const isStatic = true;

export default function Page() {
  return <GroupPage slug="desktop" />;
}
