"""How does a worker leave its consumer group, so that the next one can join it?

Tansu never completes a join after the leader of a group left it while the group was between two
assignments (tests/streams/test_membership.py shows the order that it does not survive). Kafka does
not mind. So the leader of others, and whoever finds the group moving, leaves by silence: the broker
drops it when its session has run out. With static membership nobody leaves at all.
"""

from typing import Any

from aiokafka.errors import KafkaError
from aiokafka.protocol.group import LeaveGroupRequest


class Membership:
    """Takes over the leaving of a group from aiokafka's coordinator, which it is given."""

    def __init__(self, coordinator: Any) -> None:
        self._coordinator = coordinator
        self._perform_assignment = coordinator._perform_assignment
        #: The generation that this member led, and how many others were in it.
        self._led, self._others = -1, 0
        coordinator._perform_assignment = self._assign
        coordinator._maybe_leave_group = self._leave

    async def _assign(self, response: Any) -> Any:
        self._led, self._others = response.generation_id, len(response.members) - 1
        return await self._perform_assignment(response)

    async def _leave(self) -> None:
        coordinator = self._coordinator
        try:
            if await self._may_leave():
                await coordinator._send_req(
                    LeaveGroupRequest(coordinator.group_id, coordinator.member_id)
                )
        except KafkaError:
            pass  # the session runs out by itself
        coordinator.reset_generation()

    async def _may_leave(self) -> bool:
        coordinator = self._coordinator
        # Tansu counts generations from 0, where aiokafka takes 0 for not being a member.
        if coordinator.generation < 0 or coordinator._group_instance_id is not None:
            return False
        if self._led == coordinator.generation and self._others:
            return False
        steady: bool = await coordinator._do_heartbeat()
        return steady and not coordinator._rejoin_needed_fut.done()
