"""The spec of a SledgeJob: dogs and leaders under names of their own, and how many have to arrive."""

from typing import Annotated

from pydantic import Field

from statemachine.schema.fields import Count, Mutable, PodTemplate, Positive, SpecPart, replica_count


class Team(SpecPart):
    """Dogs that are alike."""

    number: Annotated[int, replica_count(1)] = Field(1, description="Number of dogs.")
    falls: Count = Field(0, description="How often each dog may fall and get up again.")
    template: PodTemplate = Field(description="Pod template of a dog.")


class Harness(SpecPart):
    """What the dogs are tied with."""

    size: Positive = Field(1, description="Its size.")


class SledgeSpec(SpecPart):
    """A run of a sledge."""

    dogs: Team = Field(description="Those who pull.")
    leaders: Team | None = Field(None, description="Those who run in front.")
    arrivals: Positive = Field(1, description="How many have to arrive.")
    rest: Annotated[bool, Mutable()] = Field(False, description="Everybody lies down.")
    harness: Harness | None = Field(None, description="Make a harness for them.")
